import { randomInt } from 'node:crypto'
import type * as z from 'zod/mini'
import { typedCode } from '../internal.ts'

/**
 * Consonants, so a code has no words, and every keyboard types it without switching (RFC 8628 section 6.1).
 *
 * 8 of them are 34 bits. An attacker has 5 attempts for each of 20 codes an hour. After a year, the chance to
 * have guessed a code of one account is 1 in 29,000.
 */
const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ'
const LENGTH = 8

export function createCode(): string {
  return Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}

/** Returns a code as an email shows it: `WDJB-MJHT`. */
export function groupCode(code: string): string {
  return `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`
}

export const code: z.ZodMiniType<string> = typedCode(new RegExp(`^[${ALPHABET}]{${LENGTH}}$`))
