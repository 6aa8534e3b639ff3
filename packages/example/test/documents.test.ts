import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../core/test/support/free-port.ts'
import { asksExample } from '../../trpc/test/documents/check-shell.ts'
import { type Block, missingFrom, readDocuments } from '../../trpc/test/documents/read-documents.ts'
import { type Example, startExample, untilSaid } from './start-example.ts'

const pages = readDocuments()
  .map(({ path, blocks }) => ({ path, blocks: blocks.filter(asksExample) }))
  .filter(({ blocks }) => blocks.length > 0)

const folder = mkdtempSync(join(tmpdir(), 'sallyport-documents-'))
let backend: Example
let edge: Example
/** The length of the output before the page. */
let printedBefore = 0

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
  'the commands of $path print what the page says',
  async ({ path, blocks }) => {
    printedBefore = backend.output().length
    const cwd = mkdtempSync(join(folder, 'shell-'))
    // Each page starts without sessions.
    new Database(join(folder, 'example.db')).exec('delete from session').close()
    for (const block of blocks) {
      const printed = await (block.language === 'console' ? runConsole(block) : runShell(block, cwd))
      const missing = missingFrom(printed, block)
      expect(missing, `${path}:${block.line} printed\n${printed}`).toEqual([])
    }
  },
  60_000,
)

/** Runs a block in the shell of its page, with the variables of earlier blocks. */
async function runShell({ code }: Block, cwd: string): Promise<string> {
  let script = code
    .replaceAll('http://localhost:3000', backend.url)
    .replaceAll('http://localhost:3001', edge.url)
  // Readers copy these values from the terminal of the example.
  for (const [line, name = ''] of code.matchAll(/^(\w+)=\.\.\.$/gm))
    script = script.replace(line, `${name}=${await untilPrinted(name)}`)
  const names = new Set(Array.from(code.matchAll(/^(\w+)=/gm), ([, name]) => name))
  const keep = names.size === 0 ? '' : `declare -p ${[...names].join(' ')} >> variables`
  return run('bash', ['-ec', `touch variables; . ./variables\n${script}\n${keep}`], cwd)
}

/** Waits until the example has printed a value. A line may arrive in parts. */
async function untilPrinted(name: string): Promise<string> {
  for (;;) {
    const output = backend.output().slice(printedBefore)
    const [, value] = new RegExp(`${name}=(\\S+)\\n`).exec(output) ?? []
    if (value !== undefined) return value
    expect(backend.process.exitCode).toBe(null)
    await setTimeout(10)
  }
}

/** Runs the command after the prompt on the database of the running example. */
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
  const { PATH, NODE_COMPILE_CACHE } = process.env
  const env = { PATH, NODE_COMPILE_CACHE, KEY_FILE: join(backend.folder, 'keys', 'keys.json') }
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd, env }, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(stdout + stderr, { cause: error })),
    )
  })
}
