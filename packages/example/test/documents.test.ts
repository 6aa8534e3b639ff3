import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { asksExample } from '../../trpc/test/documents/check-shell.ts'
import { type Block, blocksOf, missingFrom, readDocuments } from '../../trpc/test/documents/read-documents.ts'
import { type Example, freePort, startExample, untilSaid } from './start-example.ts'

const pages = readDocuments()
  .map((document) => ({ path: document.path, blocks: blocksOf(document).filter(asksExample) }))
  .filter(({ blocks }) => blocks.length > 0)

const folder = mkdtempSync(join(tmpdir(), 'sallyport-documents-'))
let backend: Example
let edge: Example

beforeAll(async () => {
  const PORT = String(await freePort())
  ;[edge, backend] = await Promise.all([
    startExample({ PORT, KEY_FILE: join(folder, 'none.json') }, { entry: 'edge.ts', folder }),
    startExample({ PORT }, { folder }),
  ])
  await untilSaid(edge, 'report.list')
})
afterAll(async () => {
  for (const { process, exit } of [backend, edge]) {
    process.kill('SIGKILL')
    await exit
  }
  rmSync(folder, { recursive: true })
})

test.each(pages)(
  'the commands of $path print what it says',
  async ({ path, blocks }) => {
    const cwd = mkdtempSync(join(folder, 'shell-'))
    // Each page begins with nobody signed in.
    new Database(join(folder, 'example.db')).exec('delete from session').close()
    for (const block of blocks) {
      const printed = await (block.language === 'console' ? runConsole(block) : runShell(block, cwd))
      const missing = missingFrom(printed, block)
      expect(missing, `${path}:${block.line} printed\n${printed}`).toEqual([])
    }
  },
  60_000,
)

/** Runs a block in the shell of its page: what an earlier one has set is there. */
async function runShell({ code }: Block, cwd: string): Promise<string> {
  let script = code
    .replaceAll('http://localhost:3000', backend.url)
    .replaceAll('http://localhost:3001', edge.url)
  // What readers take from the terminal of the example.
  for (const [line, name = ''] of code.matchAll(/^(\w+)=\.\.\.$/gm))
    script = script.replace(line, `${name}=${await untilTold(name)}`)
  const names = new Set(Array.from(code.matchAll(/^(\w+)=/gm), ([, name]) => name))
  const keep = names.size === 0 ? '' : `declare -p ${[...names].join(' ')} >> variables`
  return run('bash', ['-ec', `touch variables; . ./variables\n${script}\n${keep}`], cwd)
}

/** The example writes it after the answer, and a line may come in parts. */
async function untilTold(name: string): Promise<string> {
  for (;;) {
    const [, value] = new RegExp(`${name}=(\\S+)\\n`).exec(backend.output()) ?? []
    if (value !== undefined) return value
    expect(backend.process.exitCode).toBe(null)
    await setTimeout(10)
  }
}

/** Runs the command of the example behind the prompt, on the database of the one that runs. */
async function runConsole({ code }: Block): Promise<string> {
  const [command = '', ...output] = code.trimEnd().split('\n')
  const line = command.split('--filter @sallyport/example exec sallyport ')[1] ?? ''
  const args = line.replace('file:data/', `file:${backend.folder}/`).split(' ')
  const main = fileURLToPath(import.meta.resolve('@sallyport/core')).replace(/index\.ts$/, 'cli/main.ts')
  const printed = await run(process.execPath, [main, ...args], join(import.meta.dirname, '..'))
  expect(printed.trimEnd()).toBe(output.join('\n'))
  return printed
}

function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  const env = { PATH: process.env.PATH, KEY_FILE: join(backend.folder, 'keys', 'keys.json') }
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd, env }, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(stdout + stderr, { cause: error })),
    )
  })
}
