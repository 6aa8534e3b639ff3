import { createInterface } from 'node:readline/promises'
import { usageError } from './errors.ts'

/** @throws CommanderError without a terminal, or after another answer than yes */
export async function confirm(): Promise<void> {
  if (!process.stdin.isTTY)
    throw usageError('Pass --yes to write without asking, or --dry-run to write nothing.')
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const stopped = new Promise<string>((resolve) => terminal.once('close', () => resolve('')))
  const answer = await Promise.race([terminal.question('\nWrite this? [y/N] '), stopped])
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw usageError('Nothing written.')
}
