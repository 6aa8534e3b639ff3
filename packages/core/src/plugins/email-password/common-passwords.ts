import { MIN_PASSWORD_LENGTH } from './password.ts'

/** The number of characters that must not follow from the ones before them. */
const MIN_SURPRISES = 6

/** Rows of keys, each without shift, as on the keyboards with the most users. */
const KEYBOARD_ROWS = [
  ...['`1234567890-=', '!@#$%^&*()_+', 'qwertyuiop[]', "asdfghjkl;'", 'zxcvbnm,./'],
  ...['qwertzuiop', 'yxcvbnm,.-', 'azertyuiop', 'qsdfghjklm', 'wxcvbn,;:!'],
]

let loading: Promise<ReadonlySet<string>> | undefined

/** Returns whether a password is among 49,000 leaked ones, a sequence, or a repetition, in any case. */
export async function isCommonPassword(password: string): Promise<boolean> {
  const candidate = password.toLowerCase()
  const part = repeatedPart(candidate)
  if (part !== candidate && [...part].length < MIN_PASSWORD_LENGTH) return true
  if (isPredictable(part)) return true
  loading ??= loadList().catch((error: unknown) => {
    loading = undefined
    throw error
  })
  const list = await loading
  return list.has(candidate) || list.has(part)
}

async function loadList(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'])
}

/** Returns the shortest text that the given one repeats, such as `abc` of `abcabcab`, or the text itself. */
function repeatedPart(text: string): string {
  const characters = [...text]
  for (let length = 1; length <= characters.length / 2; length++) {
    const isRepeated = characters.every((character, at) => character === characters[at % length])
    if (isRepeated) return characters.slice(0, length).join('')
  }
  return text
}

/** Returns whether a text is a date, or mostly repetitions and neighbors in the alphabet or on a keyboard. */
export function isPredictable(text: string): boolean {
  return isDate(text) || countSurprises([...text.toLowerCase()]) < MIN_SURPRISES
}

/** Returns whether a text is a day from 1900 to 2099, in any usual order. */
function isDate(text: string): boolean {
  const found = YEAR_LAST.exec(text) ?? YEAR_FIRST.exec(text)
  if (found === null) return false
  const [low = 0, high = 0] = [Number(found[1]), Number(found[2])].sort((a, b) => a - b)
  return low >= 1 && low <= 12 && high <= 31
}

const YEAR_LAST = /^(\d{1,2})[ ./-]?(\d{1,2})[ ./-]?(?:19|20)\d\d$/
const YEAR_FIRST = /^(?:19|20)\d\d[ ./-]?(\d{1,2})[ ./-]?(\d{1,2})$/

function countSurprises(characters: readonly string[]): number {
  let surprises = 0
  let lastSteps: readonly string[] = []
  for (const [at, character] of characters.entries()) {
    const steps = stepsBetween(characters[at - 1] ?? '', character)
    if (!steps.some((step) => lastSteps.includes(step))) surprises++
    lastSteps = steps
  }
  return surprises
}

/** Returns the orders, and directions, in which a character follows another or equals it. */
function stepsBetween(from: string, to: string): string[] {
  if (from === '') return []
  const steps = KEYBOARD_ROWS.flatMap((row) => {
    const [at, then] = [row.indexOf(from), row.indexOf(to)]
    return at >= 0 && then >= 0 && Math.abs(then - at) === 1 ? [`${row}${then - at}`] : []
  })
  const distance = (to.codePointAt(0) ?? 0) - (from.codePointAt(0) ?? 0)
  if (Math.abs(distance) <= 1) steps.push(`alphabet${distance}`)
  if (from === '9' && to === '0') steps.push('alphabet1')
  if (from === '0' && to === '9') steps.push('alphabet-1')
  return steps
}
