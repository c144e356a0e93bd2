import type { Context } from '../command/context.ts';
import { usageError } from '../command/exit.ts';

/** Verbs after which a job's name is completed. */
const JOB_VERBS = ['ps', 'status', 'why', 'logs', 'stop', 'wait'];

/** A script for the shell; names of jobs are asked of the cell when they are needed. */
export function completion(context: Context, shell: string, verbs: readonly string[]): number {
  const words = verbs.join(' ');
  const jobs = JOB_VERBS.join('|');
  const scripts: Readonly<Record<string, string>> = {
    bash: `_moorage() {
  local word="\${COMP_WORDS[COMP_CWORD]}" verb="\${COMP_WORDS[1]}"
  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "${words}" -- "$word")); return; fi
  case "$verb" in
    ${jobs}) COMPREPLY=($(compgen -W "$(timeout 1 moorage ps -o name 2>/dev/null)" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _moorage moorage
`,
    zsh: `#compdef moorage
_moorage() {
  if (( CURRENT == 2 )); then compadd ${words}; return; fi
  case "$words[2]" in
    ${jobs}) compadd -- \${(f)"$(timeout 1 moorage ps -o name 2>/dev/null)"} ;;
    *) _files ;;
  esac
}
compdef _moorage moorage
`,
    fish: `complete -c moorage -n __fish_use_subcommand -f -a "${words}"
complete -c moorage -n "__fish_seen_subcommand_from ${JOB_VERBS.join(' ')}" -f -a "(timeout 1 moorage ps -o name 2>/dev/null)"
`,
  };
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
  if (script === undefined)
    throw usageError(`no completion for "${shell}": expected bash, zsh or fish`, 'moorage completion bash');
  context.terminal.out(script);
  return 0;
}
