# bash completion of skymem, made of its command line: python -m tests.docs.manual

_skymem() {
    local cur=${COMP_WORDS[COMP_CWORD]} awaited='' at='' word i
    local verbs options valued listed files
    COMPREPLY=()
    _skymem_at ''
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == = ]]; then
            continue
        elif [[ -n $awaited && ($word != -* || ${COMP_WORDS[i - 1]} == =) ]]; then
            awaited=''
        elif [[ $word == -* ]]; then
            awaited=''
            [[ " $valued " == *" $word "* ]] && awaited=$word
        elif [[ -n $verbs && " $verbs " == *" $word "* ]]; then
            at="${at:+$at }$word"
            _skymem_at "$at"
        fi
    done
    [[ $cur == = ]] && cur=''
    if [[ -n $awaited ]]; then
        _skymem_value "$at $awaited"
        if [[ -n $listed ]]; then
            COMPREPLY=($(compgen -W "$listed" -- "$cur"))
        elif [[ " $files " == *" $awaited "* ]]; then
            _skymem_files
        fi
    elif [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
    elif [[ -n $verbs ]]; then
        COMPREPLY=($(compgen -W "$verbs" -- "$cur"))
    elif [[ " $files " == *' argument '* ]]; then
        _skymem_files
    fi
}

_skymem_files() {
    local IFS=$'\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
}

_skymem_at() {
    verbs='' options='' valued='' files=''
    case $1 in
        '')
            verbs='init demo run promote rotate compress merge prune share compact train index trigger apply jobs pause resume status top check alarms metrics remember recall recent context show explain importance simulate report forget erase restore undo pin unpin correct profile serve mcp upgrade fsck doctor import export backup restore-backup agents archive audit docs conversation hook note patterns project playbook pref scratchpad trash config'
            options='--home --agent --log-level --version --help'
            valued='--home --agent --log-level'
            files='--home'
            ;;
        'init')
            options='--dry-run --json --help'
            files='argument'
            ;;
        'demo')
            options='--json --help'
            ;;
        'run')
            options='--once --no-catch-up --dry-run --json --help'
            ;;
        'promote')
            options='--uncalibrated --dry-run --plan --json --help'
            valued='--plan'
            files='--plan'
            ;;
        'rotate')
            options='--dry-run --plan --json --help'
            valued='--plan'
            files='--plan'
            ;;
        'compress')
            options='--accept-clock --dry-run --plan --json --help'
            valued='--plan'
            files='--plan'
            ;;
        'merge')
            options='--accept-clock --dry-run --plan --json --audit --labels --seed --help'
            valued='--plan --audit --labels --seed'
            files='--plan --labels'
            ;;
        'prune')
            options='--max-loss --accept-clock --dry-run --plan --json --help'
            valued='--max-loss --plan'
            files='--plan'
            ;;
        'share')
            options='--dry-run --plan --json --help'
            valued='--plan'
            files='--plan'
            ;;
        'compact')
            options='--accept-clock --dry-run --json --help'
            ;;
        'train')
            options='--dry-run --json --help'
            ;;
        'index')
            options='--batch-size --force --stats --export-onnx --migrate --min-parity --rollback --dry-run --json --help'
            valued='--batch-size --migrate --min-parity'
            ;;
        'trigger')
            options='--dry-run --plan --json --help'
            valued='--plan'
            files='--plan'
            ;;
        'apply')
            options='--max-loss --accept-clock --dry-run --json --help'
            valued='--max-loss'
            files='argument'
            ;;
        'jobs')
            options='--json --help'
            ;;
        'pause')
            options='--dry-run --json --help'
            ;;
        'resume')
            options='--dry-run --json --help'
            ;;
        'status')
            options='--follow --json --help'
            ;;
        'top')
            options='--help'
            ;;
        'check')
            options='--json --help'
            ;;
        'alarms')
            options='--explain --json --help'
            valued='--explain'
            ;;
        'metrics')
            options='--textfile --label --json --help'
            valued='--textfile --label'
            files='--textfile'
            ;;
        'remember')
            options='--importance --tag --kind --ttl-days --meta --origin --trust --stdin --dry-run --json --help'
            valued='--importance --tag --kind --ttl-days --meta --origin --trust'
            ;;
        'recall')
            options='--limit --mode --tier --kind --tag --meta --since --recency-bias --semantic-weight --at --json --help'
            valued='--limit --mode --tier --kind --tag --meta --since --recency-bias --semantic-weight --at'
            ;;
        'recent')
            options='--hours --tag --kind --meta --limit --at --json --help'
            valued='--hours --tag --kind --meta --limit --at'
            ;;
        'context')
            options='--user --max-chars --limit --at --session --when --documents --json --help'
            valued='--user --max-chars --limit --at --session --when --documents'
            ;;
        'show')
            options='--json --help'
            ;;
        'explain')
            options='--json --help'
            ;;
        'importance')
            options='--why --second-opinions --rollback --dry-run --json --help'
            valued='--why --second-opinions'
            ;;
        'simulate')
            options='--rules --since --sweep --plot --json --help'
            valued='--rules --since --sweep --plot'
            files='--rules --plot'
            ;;
        'report')
            options='--since --html --force --no-texts --json --help'
            valued='--since --html'
            files='--html'
            ;;
        'forget')
            options='--match --dry-run --json --help'
            valued='--match'
            ;;
        'erase')
            options='--agent-all --match --source --keep-copies --dry-run --json --help'
            valued='--match --source'
            files='--source'
            ;;
        'restore')
            options='--dry-run --json --help'
            ;;
        'undo')
            options='--dry-run --json --help'
            ;;
        'pin')
            options='--dry-run --json --help'
            ;;
        'unpin')
            options='--dry-run --json --help'
            ;;
        'correct')
            options='--dry-run --json --help'
            ;;
        'profile')
            options='--user --json --help'
            valued='--user'
            ;;
        'serve')
            options='--socket --dry-run --json --help'
            valued='--socket'
            files='--socket'
            ;;
        'mcp')
            options='--help'
            ;;
        'upgrade')
            options='--backup --dry-run --json --help'
            valued='--backup'
            files='--backup'
            ;;
        'fsck')
            options='--json --help'
            ;;
        'doctor')
            options='--secrets --json --help'
            ;;
        'import')
            options='--format --agent --dry-run --json --help'
            valued='--format --agent'
            files='argument'
            ;;
        'export')
            options='--format --agent --json --help'
            valued='--format --agent'
            files='argument'
            ;;
        'backup')
            options='--dry-run --json --help'
            files='argument'
            ;;
        'restore-backup')
            options='--home --dry-run --json --help'
            valued='--home'
            files='--home argument'
            ;;
        'agents')
            verbs='list violations'
            options='--help'
            ;;
        'agents list')
            options='--json --help'
            ;;
        'agents violations')
            options='--acknowledge --limit --dry-run --json --help'
            valued='--limit'
            ;;
        'archive')
            verbs='search'
            options='--help'
            ;;
        'archive search')
            options='--tag --since --until --limit --json --help'
            valued='--tag --since --until --limit'
            ;;
        'audit')
            verbs='verify log'
            options='--help'
            ;;
        'audit verify')
            options='--json --help'
            ;;
        'audit log')
            options='--run --id --op --since --limit --json --help'
            valued='--run --id --op --since --limit'
            ;;
        'docs')
            verbs='add search list remove agent-md'
            options='--help'
            ;;
        'docs add')
            options='--dry-run --json --help'
            files='argument'
            ;;
        'docs search')
            options='--limit --user --json --help'
            valued='--limit --user'
            ;;
        'docs list')
            options='--json --help'
            ;;
        'docs remove')
            options='--dry-run --json --help'
            files='argument'
            ;;
        'docs agent-md')
            options='--dry-run --json --help'
            files='argument'
            ;;
        'conversation')
            verbs='summarize'
            options='--help'
            ;;
        'conversation summarize')
            options='--session --previous --user --force --store --json --help'
            valued='--session --previous --user'
            files='--previous argument'
            ;;
        'hook')
            verbs='session-start prompt tool-use stop install remove plugin'
            options='--help'
            ;;
        'hook session-start')
            options='--help'
            ;;
        'hook prompt')
            options='--help'
            ;;
        'hook tool-use')
            options='--help'
            ;;
        'hook stop')
            options='--help'
            ;;
        'hook install')
            options='--settings --dry-run --help'
            valued='--settings'
            files='--settings'
            ;;
        'hook remove')
            options='--settings --dry-run --help'
            valued='--settings'
            files='--settings'
            ;;
        'hook plugin')
            options='--dry-run --help'
            files='argument'
            ;;
        'note')
            verbs='write list merge prune-expired'
            options='--help'
            ;;
        'note write')
            options='--user --scope --tag --confidence --stability --ttl-days --sensitivity --evidence --job-id --dry-run --json --help'
            valued='--user --scope --tag --confidence --stability --ttl-days --sensitivity --evidence --job-id'
            ;;
        'note list')
            options='--user --kind --scope --tag --limit --json --help'
            valued='--user --kind --scope --tag --limit'
            ;;
        'note merge')
            options='--dry-run --json --help'
            ;;
        'note prune-expired')
            options='--accept-clock --dry-run --json --help'
            ;;
        'patterns')
            verbs='list'
            options='--help'
            ;;
        'patterns list')
            options='--json --help'
            ;;
        'project')
            verbs='list show'
            options='--help'
            ;;
        'project list')
            options='--json --help'
            ;;
        'project show')
            options='--json --help'
            ;;
        'playbook')
            verbs='add complete continued corrected find list'
            options='--help'
            ;;
        'playbook add')
            options='--flow --query --call --slot --outcome --stdin --user --dry-run --json --help'
            valued='--flow --query --call --slot --outcome --user'
            ;;
        'playbook complete')
            options='--flow --query --call --slot --outcome --stdin --session --user --dry-run --json --help'
            valued='--flow --query --call --slot --outcome --session --user'
            ;;
        'playbook continued')
            options='--session --dry-run --json --help'
            valued='--session'
            ;;
        'playbook corrected')
            options='--session --dry-run --json --help'
            valued='--session'
            ;;
        'playbook find')
            options='--flow --limit --session --user --dry-run --json --help'
            valued='--flow --limit --session --user'
            ;;
        'playbook list')
            options='--user --json --help'
            valued='--user'
            ;;
        'pref')
            verbs='set rule get unset list history apply find onboard'
            options='--help'
            ;;
        'pref set')
            options='--user --when --effect --tag --dry-run --json --help'
            valued='--user --when --effect --tag'
            ;;
        'pref rule')
            options='--when --effect --user --tag --dry-run --json --help'
            valued='--when --effect --user --tag'
            ;;
        'pref get')
            options='--user --json --help'
            valued='--user'
            ;;
        'pref unset')
            options='--user --dry-run --json --help'
            valued='--user'
            ;;
        'pref list')
            options='--user --json --help'
            valued='--user'
            ;;
        'pref history')
            options='--user --json --help'
            valued='--user'
            ;;
        'pref apply')
            options='--user --json --help'
            valued='--user'
            ;;
        'pref find')
            options='--user --limit --json --help'
            valued='--user --limit'
            ;;
        'pref onboard')
            options='--user --dry-run --json --help'
            valued='--user'
            files='argument'
            ;;
        'scratchpad')
            verbs='write read promote report-saved end'
            options='--help'
            ;;
        'scratchpad write')
            options='--session --remember --user --origin --trust --dry-run --json --help'
            valued='--session --user --origin --trust'
            ;;
        'scratchpad read')
            options='--session --json --help'
            valued='--session'
            ;;
        'scratchpad promote')
            options='--session --dry-run --json --help'
            valued='--session'
            ;;
        'scratchpad report-saved')
            options='--session --dry-run --json --help'
            valued='--session'
            ;;
        'scratchpad end')
            options='--session --dry-run --json --help'
            valued='--session'
            ;;
        'trash')
            verbs='list'
            options='--help'
            ;;
        'trash list')
            options='--json --help'
            ;;
        'config')
            verbs='check show explain'
            options='--help'
            ;;
        'config check')
            options='--json --help'
            ;;
        'config show')
            options='--json --help'
            ;;
        'config explain')
            options='--json --help'
            ;;
    esac
}

_skymem_value() {
    listed=''
    case $1 in
    esac
}

complete -F _skymem skymem
