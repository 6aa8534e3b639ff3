import { isPredictable } from './common-passwords.ts'
import { MIN_PASSWORD_LENGTH } from './password.ts'

/** The words that an attacker tries first for one account of one app. */
export type PasswordContext = {
  appName?: string | undefined
  name: string
  username?: string
  email: string
}

/**
 * Returns whether a password consists of the app's name and the user's names and email, in any order and
 * case, with digits for similar letters, and too few other characters (NIST SP 800-63B-4, 3.1.1.2).
 */
export function isMadeOfContext(
  password: string,
  { appName = '', name, username = '', email }: PasswordContext,
): boolean {
  const identifiers = [appName, name, username, email.slice(0, email.lastIndexOf('@')), email].map(plain)
  const parts = identifiers.flatMap((text) => (text === plain(email) ? [] : text.split(/\P{L}+/u)))
  const words = [...identifiers.map(lettersOf), ...parts]
  const text = plain(password)
  const rest = without(text, identifiers)
  const core = text.replace(/^\P{L}+|\P{L}+$/gu, '')
  const ends = text.replace(core, '')
  return (
    ((rest !== text || lettersOf(text) !== '') && consistsOf(rest, words)) ||
    // Only digits between letters can replace letters.
    (core !== '' && consistsOf(`${ends}${asLetters(core)}`, words.map(asLetters)))
  )
}

function consistsOf(text: string, words: readonly string[]): boolean {
  if (without(lettersOf(text), words) !== '') return false
  const others = text.replace(/\p{L}/gu, '')
  return [...others].length < MIN_PASSWORD_LENGTH || isPredictable(others)
}

/** Removes words of two or more characters from a text. */
function without(text: string, removed: readonly string[]): string {
  const longestFirst = removed.filter(({ length }) => length > 1).sort((a, b) => b.length - a.length)
  return longestFirst.reduce((rest, word) => rest.replaceAll(word, ''), text)
}

function plain(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
}

function lettersOf(text: string): string {
  return text.replace(/\P{L}/gu, '')
}

/** Replaces characters that look like a letter, and folds letters that share such a character. */
function asLetters(text: string): string {
  return text.replace(/[0134578@$!|l+]/g, (character) => SIMILAR[character] ?? character)
}

const DIGITS = { '0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '8': 'b' }
const SIGNS = { '@': 'a', $: 's', '!': 'i', '|': 'i', l: 'i', '+': 't' }
const SIMILAR: Readonly<Record<string, string>> = { ...DIGITS, ...SIGNS }
