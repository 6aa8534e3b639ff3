import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { usageError } from './errors.ts'

/** Reads a new password from a pipe, or twice from a terminal that doesn't show it. */
export async function readPassword(): Promise<string> {
  const { stdin } = process
  if (!stdin.isTTY) {
    // `echo` and editors end the line.
    const piped = (await text(stdin)).replace(/\r?\n$/, '')
    if (piped === '') throw usageError('The password is missing. Type it at the prompt, or pipe it.')
    return piped
  }
  const terminal = createInterface({ input: stdin, output: silent(), terminal: true })
  const stopped = new Promise<never>((_, reject) =>
    terminal.once('SIGINT', () => reject(usageError('Stopped. Nothing changed.'))),
  )
  const ask = async (prompt: string) => {
    process.stderr.write(prompt)
    const answer = await Promise.race([terminal.question(''), stopped])
    process.stderr.write('\n')
    return answer
  }
  try {
    const password = await ask('Password: ')
    if ((await ask('Again: ')) !== password) throw usageError('The passwords differ. Nothing changed.')
    return password
  } finally {
    terminal.close()
  }
}

/** Discards what readline would show. */
function silent(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() })
}
