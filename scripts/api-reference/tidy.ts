import { type Entry, NOTICE, pageOf } from './entries.ts'

/** A page without what says nothing: anchors that no page links to, types that the signature above has said already, rules. */
export function tidy(entry: Entry, page: string, linked: ReadonlySet<string>): string {
  const text = shorten(page)
    .replace(ANCHOR, (anchor, id: string) => (linked.has(`${pageOf(entry)}#${id}`) ? anchor : ''))
    .replaceAll('__namedParameters', entry.name.endsWith('/react') ? 'props' : 'options')
    .replace(EVERY_REASON, '[`Reason`](core-protocol.md#reason)')
    .replaceAll('(core-protocol.md#reason)', pageOf(entry) === 'core-protocol' ? '(#reason)' : '$&')
    .replace(ANY_PLUGIN, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
  return `${NOTICE}# ${entry.name}\n\n${sentence(entry)}\n\n${text}\n`
}

function sentence({ purpose, runs }: Entry): string {
  return `${purpose.replace(/^[a-z]/, (letter) => letter.toUpperCase())}. Runs in: ${runs}.`
}

/** A table of constants, whose types say the values. */
const withoutValues = (table: string): string =>
  table.includes('| Name | Type | Default value |') ? table.replace(/^(\|.*\|) [^|]* \|$/gm, '$1') : table

/** A table of members that are objects, where their members say nothing more than their types, which stand in the row above. */
const withoutUndescribed = (table: string): string =>
  table.replace(/^\| `\w+\.\S+` \| (?:\\.|[^\\|\n])* \|(?: -)?(?: -)?(?: \|)?\n/gm, '')

function shorten(page: string): string {
  return page
    .replace(/\n\*\*\*\n/g, '\n')
    .split(/\n(?=#{2,6} )/)
    .filter((section) => !REPEATS.some((repeat) => repeat.test(section)))
    .map((section) =>
      withoutUndescribed(withoutValues(section))
        .replace(/^#{3,6} Returns\n\n[^\n]*\n\n(?=[^|\n])/, '**Returns** ')
        .replace(/^(#+ .*\n\n> `const` .*?: )\\{ .*\\}(?=\n)/, '$1`object`')
        .replace(/^#{3,6} Throws\n\n(?:Throws )?/, '**Throws** ')
        .replace(/^#{3,6} (Examples?|Default)\n/, '**$1**\n')
        .replace(/^#{3,6} Extends\n\n- ([^\n]*)\n*$/, 'Extends $1.\n'),
    )
    .join('\n')
}

const ANCHOR = /<a id="([\w-]+)"><\/a> /g

/** The compiler does not keep the name of this union. */
const EVERY_REASON = /`"TOKEN_MISSING"`(?: \\\| `"[A-Z_]+"`)+ \\\| `"KEYS_UNAVAILABLE"`/g

/** The defaults of the type parameters of `AuthPlugin`, which the compiler writes out. */
const ANY_PLUGIN =
  /\\<(?:`Readonly`\\<`Record`\\<`string`, \[`(?:Endpoint|UserColumn|SessionColumn)`\]\([\w.#-]+\)(?:\\<`unknown`, `object`, `boolean`\\>)?\\>\\>(?:, )?){3}\\>/g

const REPEATS = [
  // A type alone.
  /^#{3,6} Returns\n\n[^\n]*\n*(?:\n\|[^$]*)?$/,
  /^#{3,6} (?:Type )?Parameters\n\n\| [^\n]*Parameter \|(?![^\n]*Description)[^\n]*\n(?:\|[^\n]*\n?)*\n*$/,
  /^#{3,6} (?:Extended by|Overrides|Inherited from|Implementation of)\n/,
]
