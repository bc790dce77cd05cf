r"""Text that reads as a command to the one who reads it, in the languages it mostly comes in (H1).

A document or a tool's output that says "ignore all previous instructions" is data about which to
know, and nothing to follow. This tells such text from plain statements: by what it takes back, by
what it orders the reader, by roles and tokens of a chat it plays, and by calls of tools it mimics.
A look at words finds no intention: what is not found here still stands in a context as quoted data.
"""

import re
import unicodedata
from typing import Final

from skymem.model.regex import regex

LETTERS_MAX: Final = 20_000
"""Of a text, what is looked at: its beginning and its end, so many each."""


def reads_as_instruction(text: str) -> bool:
    """Whether a text tells its reader what to do, beyond saying what is."""
    if len(text) > 2 * LETTERS_MAX:
        text = f"{text[:LETTERS_MAX]}\n{text[-LETTERS_MAX:]}"
    if text.isascii():
        return bool(_COMMAND.search(text.casefold()))
    plain = _plain(text)
    alike = plain.translate(_LOOK_ALIKES)
    return bool(_COMMAND.search(plain)) or (alike != plain and bool(_COMMAND.search(alike)))


def _plain(text: str) -> str:
    """The text as it is read: without what is not seen, and each letter in its usual form."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFKC", "".join(one for one in apart if _is_seen(one)))


def _is_seen(one: str) -> bool:
    return one in "\n\t" or unicodedata.category(one) not in ("Cf", "Cc", "Mn", "Co", "Cn")


_LOOK_ALIKES: Final = str.maketrans("аеіорсухѕԁһј", "aeiopcyxsdhj")

_PAST: Final = (
    r"(?:all|any|every|the|your|my|these|those|of|previous|prior|above|earlier|preceding|former"
    r"|existing|other|safety|system)"
)
_ORDERS: Final = (
    r"(?:instructions?|prompts?|rules?|directions?|guidelines?|orders?|commands?|restrictions?"
    r"|messages?|context|policies)"
)
_COMMAND: Final = regex(
    "|".join(
        (
            # takes back what was said before
            (
                rf"\b(?:ignore|disregard|forget|override|bypass|discard)\b(?:\s+{_PAST}){{1,5}}"
                rf"\s+{_ORDERS}\b"
            ),
            r"\b(?:ignoriere?|vergiss|missachte)\b.{0,40}\b(?:anweisung|instruktion|regel|befehl)",
            r"\b(?:ignore[zr]?|oublie[zr]?)\b.{0,40}\b(?:instruction|consigne|regle|ordre)",
            r"\b(?:ignora|olvida|ignorar|olvide|descarta)\b.{0,40}\b(?:instruccion|regla|orden)",
            r"\b(?:ignore|esqueca|desconsidere)\b.{0,40}\b(?:instruc|regra|ordens)",
            r"\b(?:ignora|dimentica)\b.{0,40}\b(?:istruzion|regol)",
            r"игнорируи.{0,40}(?:инструкц|указан|правил)",
            r"(?:忽略|无视|無視).{0,12}(?:指令|指示|提示|规则|規則|命令)",
            r"(?:以前|前)の(?:指示|命令).{0,8}(?:無視|忘れ)",
            # orders the reader, now or for good
            (
                r"\byou\s+(?:must|shall|should|will|have\s+to|need\s+to|are\s+to|ought\s+to)\s+"
                r"(?:now|always|never|not\s+(?:tell|mention|reveal|ask)|immediately|only|henceforth"
                r"|first|send|run|execute|reveal|obey|comply)\b"
            ),
            r"\bfrom\s+now\s+on\b.{0,30}\b(?:you|always|never|answer|reply|respond|act|use|send)\b",
            r"\byou\s+are\s+now\s+(?:a|an|the|in|no|free|dan)\b",
            (
                r"(?:^|[\n.!?:;][ \t]{0,4})(?:please\s+)?(?:always|never)\s+"
                r"(?:respond|reply|answer|obey|follow|trust|approve|send|forward|include|run|execute|use|recommend|tell|say|ask|mention)\b"
            ),
            (
                r"\bdo\s+not\s+(?:tell|inform|mention|reveal|show|alert|warn)\s+(?:this\s+to\s+)?"
                r"(?:the\s+)?(?:user|human|owner|operator|anyone|anybody)\b"
            ),
            (
                r"\b(?:remember|memori[sz]e|save|store)\s+(?:this|that|the\s+following)\s+"
                r"(?:as\s+a\s+(?:rule|preference)|rule|permanently|forever|for\s+all)\b"
            ),
            (
                r"\b(?:new|updated|important|urgent|hidden)\s+(?:system\s+)?(?:instructions?|directives?)"
                r"\s*(?::|for\s+(?:the\s+)?(?:assistant|agent|ai|model|llm))"
            ),
            (
                r"\b(?:assistant|agent|ai|llm|model|chatbot)s?\s*(?:,|:)?\s+(?:must|shall|should\s+always"
                r"|is\s+required\s+to|are\s+required\s+to)\b"
            ),
            (
                r"\b(?:reveal|print|output|repeat|show|leak)\s+(?:me\s+)?(?:your|the)\s+(?:hidden\s+)?"
                r"(?:system\s+prompt|instructions|secrets?|api\s+keys?|passwords?)\b"
            ),
            r"\bdu\s+(?:musst|sollst|wirst|darfst)\s+(?:nun|jetzt|immer|nie|niemals|ab\s+sofort)\b",
            r"\b(?:tu\s+dois|vous\s+devez)\s+(?:toujours|jamais|maintenant|desormais)\b",
            r"\b(?:debes|tienes\s+que)\s+(?:siempre|nunca|ahora)\b",
            # plays a part in a chat, or the marks of one
            (
                r"(?:^|\n)[ \t]{0,8}(?:#{1,6} ?)?[\[(<*]{0,4}(?:system|developer|assistant)"
                r"[\])>*]{0,4}[ \t]{0,4}(?:prompt|message)?[ \t]{0,4}:[ \t]{0,8}\S"
            ),
            r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)",
            r"\[/?inst\]|<</?sys>>|</?(?:system|instructions?|tool_call|function_call|invoke)>",
            r"<[ ]?/?[ ]?(?:antml:)?(?:invoke|function_calls|tool_use|tool_result)\b",
            (
                r"\{[ \t\n]{0,8}\"(?:tool|function|tool_call|tool_name|recipient_name)\""
                r"[ \t]{0,4}:\s{0,8}[\"{]"
            ),
            r"(?:^|\n)[ \t]{0,8}(?:end\s+of\s+recorded\s+memory|<<<\s*recorded\s+memory)",
        )
    ),
    re.DOTALL,
)
