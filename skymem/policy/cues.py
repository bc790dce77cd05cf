"""Words that turn a statement round or take it half back, in the languages agents write (row X7).

Too many here costs a summary or a merge that could have been; one too few could cost the truth.
"""

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS: Final = _words(
    """
    not no never none nobody nothing neither nor nowhere without cannot hardly barely scarcely
    rarely seldom lack lacks lacking lacked fail fails failed failing refuse refuses refused deny
    denies denied avoid avoids avoided except excluding false wrong instead untrue stop stops
    stopped stopping cancel cancels cancelled canceled nope nay
    nicht kein keine keinen keinem keiner keines nie niemals ohne weder noch nichts niemand kaum
    ne pas jamais sans aucun aucune rien personne ni non guère sauf
    nunca sin ningún ninguno ninguna nadie nada jamás tampoco excepto
    não nao sem nenhum nenhuma ninguém jamais nem
    mai senza nessuno nessuna niente nulla né nemmeno
    niet geen nooit zonder niets niemand nergens
    inte aldrig utan ingen inget inga ikke ikkje aldri uten ingen ej
    nie bez nigdy nic nikt żaden ei älä ilman nem soha nélkül nincs nu niciodată fără
    не нет ни никогда без нельзя никто ничто ничего нету ні немає ніколи
    δεν μην όχι ποτέ χωρίς değil yok hayır asla olmadan tidak bukan jangan tanpa không chưa đừng
    لا ليس ليست لم لن ما غير بدون أبدا לא אין בלי אל נה नहीं मत न बिना कभी
    """
)
"""Each says that something is not so."""

HEDGES: Final = _words(
    """
    maybe perhaps probably possibly potentially might may could would should must can will shall
    ought need needs plan plans planned planning intend intends intended want wants wanted hope
    hopes hoped try tries tried trying consider considers considered considering propose proposes
    proposed suggest suggests suggested seem seems seemed appear appears appeared likely unlikely
    apparently allegedly reportedly supposedly presumably believe believes believed think thinks
    thought guess guesses guessed assume assumes assumed suspect suspects suspected expect expects
    expected rumor rumour rumored rumoured draft tentative tentatively if unless whether when
    whenever until till almost nearly approximately roughly about around least most only some
    sometimes often usually mostly partly partially few fewer several any every each all many or
    either between said says say told tells tell claim claims claimed according heard hears asked
    asks ask requested requests request used going unclear unknown unconfirmed uncertain todo wip
    pretend imagine suppose hypothetically eventually soon once before after while mean means
    example examples instance like
    vielleicht wahrscheinlich möglicherweise eventuell könnte könnten kann sollte sollten soll
    sollen würde würden will wollen muss darf wenn falls ob geplant angeblich vermutlich nur fast
    peut-être probablement pourrait pourraient devrait devraient si serait seraient prévu prévoit
    veut doit peut presque seulement selon
    quizás quizá acaso probablemente podría podrían debería deberían sería quiere debe puede
    planea casi solo sólo según
    talvez provavelmente poderia deveria seria se quer deve pode quase apenas segundo
    forse probabilmente potrebbe dovrebbe sarebbe vuole deve può quasi secondo
    misschien waarschijnlijk zou kan moet wil als kanske kunde skulle bör vill om måske
    może chyba prawdopodobnie powinien jeśli gdyby możliwe
    возможно может вероятно наверное должен должна если хочет планирует бы почти только
    belki muhtemelen eğer mungkin jika có thể nếu ربما قد إذا لو אולי אם शायद अगर यदि
    """
)
"""Each says that something may be so, is so in part, on a condition, later, or as somebody says."""

LIMITING: Final = _words(
    """
    in on at for during with within inside outside under over above below by per from to of as than
    where which who whom whose that since via through across among against per into onto near behind
    too then else otherwise therefore so thus hence though instead again still yet
    bei mit von für auf im am zum zur aus seit während unter dans en pour avec par chez sur depuis
    con por para desde sobre entre com em no na nel con per da di su met voor op van tijdens
    """
)
"""A clause that begins with one says where, when or in what the others hold."""

CONTRASTS: Final = _words(
    """
    but however except unless only actually correction update edit not no never although though yet
    still instead otherwise nevertheless nonetheless conversely kidding wrong scratch nvm
    aber jedoch doch allerdings sondern nur nicht nein korrektur mais cependant toutefois sauf pas
    pero sin embargo excepto salvo mas porém contudo però tuttavia ma maar echter но однако кроме
    但 但是 不过 然而 でも しかし ただし 하지만 그러나
    """
)
"""A sentence that begins with one takes back some of the sentence before."""

NEGATIVE_CHARACTERS: Final = (
    r"[不没沒無无非未别別勿莫]|ません|ない|なく|なかっ|ず(?=に)|^안$|못|없|아니|않|지\s?마|"
    r"ไม่|မ(?=\S+ဘူး)"
)
"""In scripts without spaces a negation stands within the run."""

HEDGING_CHARACTERS: Final = (
    r"可能|也许|也許|或许|或許|大概|应该|應該|如果|计划|計劃|打算|或者|据说|據說|想要|"
    r"かもしれ|だろう|でしょう|たぶん|多分|もし|はず|らしい|そうだ|つもり|予定|아마|만약|수도|것\s?같|อาจ|ถ้า"
)
"""The same for what may be so."""

CLOCK_CHARACTERS: Final = (
    r"上午|下午|午前|午後|凌晨|早上|晚上|中午|傍晚|오전|오후|昨天|今天|明天|昨日|今日|明日|"
    r"어제|오늘|내일"
)
"""Parts of the day, and days, in scripts without spaces."""

NUMERAL_CHARACTERS: Final = r"[〇零一二三四五六七八九十百千万萬亿億兆两兩俩半壱弐参拾]+"
"""Numbers written in ideographs."""

CLOCK_WORDS: Final = _words(
    """
    am pm a.m p.m a.m. p.m. noon midnight today tomorrow yesterday tonight morning afternoon evening
    night daily weekly monthly yearly hourly next last previous now
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri
    january february march april june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec
    montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag heute morgen gestern
    januar februar märz mai juni juli oktober dezember mittag mitternacht
    lundi mardi mercredi jeudi vendredi samedi dimanche demain hier aujourd'hui midi minuit
    janvier février mars avril juin juillet août septembre octobre novembre décembre
    lunes martes miércoles jueves viernes sábado domingo hoy mañana ayer mediodía medianoche
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    segunda terça quarta quinta sexta hoje amanhã ontem lunedì martedì mercoledì giovedì venerdì
    sabato domenica oggi domani ieri
    """
)
"""Words that say when."""

_SMALL: Final = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen
    """
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS: Final = {
    **{word: str(value) for value, word in enumerate(_SMALL.split())},
    **{word: str(10 * value) for value, word in enumerate(_TENS.split(), start=2)},
}
"""English numbers that are one word, and what they are."""

COUNTS: Final = _words(
    """
    hundred hundreds thousand thousands million millions billion billions trillion dozen dozens half
    halves quarter quarters twice thrice double triple single both couple pair first second third
    fourth fifth sixth seventh eighth ninth tenth minus plus percent percentage
    zwei drei vier fünf sechs sieben acht neun zehn elf zwölf hundert tausend halb
    deux trois quatre cinq sept huit neuf dix onze douze vingt cent mille demi
    dos tres cuatro cinco seis siete ocho nueve diez once doce veinte cien ciento mil medio
    dois duas três quatro sete oito nove dez vinte cem meio due tre quattro cinque sei sette otto
    venti cento mezzo twee drie vijf zes zeven acht negen tien один два две три четыре пять шесть
    семь восемь девять десять сто тысяча
    """
)
"""Other words that count."""

SILENT: Final = _words(
    "a an the is are am be been being that do does please also really very just simply"
)
"""Words that a statement can have or lack and be the same."""

UNITS: Final = _words(
    """
    B kB KB MB GB TB PB KiB MiB GiB TiB b kb Kb Mb Gb Tb kbps Mbps Gbps k K M m G g kg mg t l L ml
    mL km cm mm nm ns us µs μs ms s sec secs min mins h hr hrs d w W kW MW GW kWh MWh mW V mV kV A
    mA Hz kHz MHz GHz C F J kJ MJ N Pa kPa MPa bar x X USD EUR GBP CHF JPY ft in oz lb lbs mi mph px
    pt
    """
)
"""Units whose letters' case counts: MB is not Mb, and mW not MW."""

_FORGOTTEN: Final = """
    dont doesnt didnt isnt arent wasnt werent cant wont wouldnt shouldnt couldnt hasnt havent hadnt
    mustnt neednt aint
    """
CONTRACTED: Final = {word: f"{word[:-1]}'t" for word in _FORGOTTEN.split()}
"""Negations whose apostrophe is forgotten."""

ABBREVIATIONS: Final = _words(
    """
    mr mrs ms dr prof sr jr st mt vs etc e.g i.e eg ie cf al ca approx fig figs no nos vol pp p ch
    sec inc ltd co corp dept est gov gen col capt lt sgt rev hon pres jan feb mar apr jun jul aug
    sep sept oct nov dec mon tue tues wed thu thurs fri sat sun a.m p.m am pm min max ver rev u.s
    u.k u.n d.c ph.d m.d b.a m.a bzw z.b d.h u.a usw ggf evtl inkl exkl nr str tel abs ing dipl hr
    fr m mme mlle p.ex env av sra srta ud uds ej pág núm sig sigg dott avv ecc es pag т.е
    т.д т.п др
    """
)
"""Words whose point ends no sentence."""
