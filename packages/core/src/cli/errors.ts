import { readFileSync, statSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { CommanderError } from 'commander'
import { isAuthError } from '../protocol/errors.ts'

const EXIT_USAGE = 2
const EXIT_UNCHANGED = 3

/** Creates the error of a call with wrong arguments, which exits with 2. */
export function usageError(message: string): CommanderError {
  return new CommanderError(EXIT_USAGE, 'USAGE', message)
}

/** Creates the error of a call that found nothing to change, which exits with 3. */
export function unchanged(reason: string): CommanderError {
  return new CommanderError(EXIT_UNCHANGED, 'NOTHING_CHANGED', `Nothing changed. ${reason}`)
}

/** Prints why a command failed, and returns the exit code. Never prints a stack. */
export function reportError(error: unknown): number {
  if (error instanceof CommanderError && error.code.startsWith('commander.')) {
    if (error.exitCode === 0) return 0
    const fault = error.code === 'commander.help' ? 'The command is missing.' : sentence(messageOf(error))
    return reportError(usageError(`${fault} Add --help for the arguments.`))
  }
  const message = explain(error)
  const code = error instanceof Error && 'code' in error ? error.code : null
  if (!process.argv.includes('--json')) console.error(message)
  else console.log(JSON.stringify({ error: { message, ...(typeof code === 'string' && { code }) } }))
  return error instanceof CommanderError ? error.exitCode : 1
}

/** Returns the message of an error for the operator, who may have forgotten to load `./.env`. */
export function explain(error: unknown): string {
  const message = messageOf(error)
  const hasEnvOption = process.argv.some((argument) => /^(-e|--env)/.test(argument))
  const unloaded = hasEnvOption ? {} : readEnvFile()
  const name = message
    .match(/\b[A-Z][A-Z0-9_]+\b/g)
    ?.find((word) => unloaded[word] && process.env[word] === undefined)
  return name === undefined ? message : `${sentence(message)} ./.env has ${name}: pass --env .env.`
}

const sentence = (text: string) => text.replace(/\.?$/, '.')

/** Returns the message of an error in one line. */
export function messageOf(error: unknown): string {
  // The message of an AuthError is for clients, and an AggregateError of a connection has none.
  if (isAuthError(error) && error.cause !== undefined) return messageOf(error.cause)
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  const text = error instanceof Error ? error.message : String(error)
  const line = text
    .replace(/^error: /, '')
    .replace(/\n\(/, ' (')
    .replaceAll(/\.?\s*\n\s*/g, '; ')
  // Only the stack of a syntax error says where it is.
  const place = error instanceof SyntaxError ? /^\S+:\d+$/m.exec(error.stack ?? '')?.[0] : undefined
  return place === undefined ? line : `${line} (${place})`
}

function readEnvFile(): NodeJS.Dict<string> {
  try {
    // To read a named pipe would wait for its writer.
    return statSync('.env').isFile() ? parseEnv(readFileSync('.env', 'utf8')) : {}
  } catch {
    return {}
  }
}
