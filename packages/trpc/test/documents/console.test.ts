import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { CLEAN_APP, writeApp } from '../../../core/test/support/write-app.ts'
import { asksExample } from './check-shell.ts'
import { type Block, type Document, missingFrom, ROOT, readDocuments } from './read-documents.ts'

const directory = mkdtempSync(join(tmpdir(), 'sallyport-console-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const documents = readDocuments()
const consoles = documents.flatMap((document) =>
  document.blocks
    .filter((block) => block.language === 'console' && !asksExample(block))
    .map((block) => ({ ...block, document, place: `${document.path}:${block.line}` })),
)

test.each(consoles)('the commands at $place print what is shown there', async ({ document, ...block }) => {
  const cwd = folderFor(block, document)
  const steps = stepsOf(block)
  const printed = []
  for (const { command, output, secondsLater } of steps) {
    const ran = await run(command, { cwd, secondsLater })
    // If the page shows no output, check only that the command succeeds.
    if (output === '') expect([command, ran.code]).toEqual([command, 0])
    printed.push({ command, output: output === '' ? '' : ran.output })
  }
  expect(masked(printed)).toBe(masked(steps))
  expect(missingFrom(printed.map(({ output }) => output).join('\n'), block)).toEqual([])
})

interface Step {
  readonly command: string
  readonly output: string
  readonly secondsLater: number
}

/** The commands of a console, each with what it prints. */
function stepsOf({ code }: Block): Step[] {
  return code
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const [line = '', ...output] = text.trimEnd().split('\n')
      const [command = '', comment = ''] = line.split(/ +# /)
      return { command, output: output.join('\n'), secondsLater: comment === 'ten minutes later' ? 600 : 0 }
    })
}

const folders = new Map<string, string>()

/** A folder for a page; where the command looks at an app, one with such an app. */
function folderFor({ code }: Block, { path }: Document): string {
  if (code.includes('sallyport doctor')) return writeApp(directory, APP_WITH_MAIL)
  if (code.includes('sallyport generate')) return withPackages(writeApp(directory, DEFINITION))
  const folder = folders.get(path) ?? writeApp(directory, { 'data/.keep': '' })
  folders.set(path, folder)
  return folder
}

function withPackages(folder: string): string {
  symlinkSync(join(ROOT, 'packages/trpc/node_modules'), join(folder, 'node_modules'), 'junction')
  return folder
}

const DEFINITION = {
  'package.json': '{ "type": "module" }',
  'src/auth.ts': readFileSync(join(ROOT, 'packages/core/test/fixtures/auth-definition.ts'), 'utf8'),
}

/** An app whose notes send mail, and get at the definition by that. */
const APP_WITH_MAIL = {
  ...CLEAN_APP,
  'src/routers/organizations.ts': null,
  'src/routers/report.ts': null,
  'src/routers/app.ts': null,
  'src/mail.ts': `
    import { getAuth } from './get-auth.ts'
    export const mail = getAuth`,
  'src/routers/notes.ts': `
    import { mail } from '../mail.ts'
    import { protectedProcedure, router } from '../procedures.ts'
    export const notes = router({ list: protectedProcedure.query(mail) })`,
  'src/app.ts': null,
  'src/server.ts': `
    import { authedAction } from './authed-action.ts'
    import { notes } from './routers/notes.ts'
    console.log(authedAction, notes)`,
}

/** Runs what is behind the prompt. A key is named by its state: `<active>`. */
async function run(
  command: string,
  { cwd, secondsLater }: { cwd: string; secondsLater: number },
): Promise<{ code: number; output: string }> {
  const [, line = ''] = /^(?:npx )?sallyport (.*)$/.exec(command) ?? []
  if (line === '') throw new Error(`This test can't run "${command}"`)
  const args = line.split(' ').map((word) => (/^<\w+>$/.test(word) ? kidOf(word.slice(1, -1)) : word))
  const env = { ...process.env, NODE_OPTIONS: `--import=${laterBy(secondsLater)}` }
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...args], { cwd, env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), output: `${stdout}${stderr}`.trimEnd() }),
    )
  })

  function kidOf(state: string): string {
    const [, file = ''] = / (?:-f|--key-file) (\S+)/.exec(line) ?? []
    const { keys } = JSON.parse(readFileSync(join(cwd, file), 'utf8'))
    return keys.find((key: { state: string }) => key.state === state).kid
  }
}

const MAIN = join(ROOT, 'packages/core/src/cli/main.ts')

/** A module that puts the clock of a process forward. */
const laterBy = (seconds: number) =>
  `data:text/javascript,${encodeURIComponent(`
    const RealDate = Date
    const now = () => RealDate.now() + ${seconds * 1000}
    globalThis.Date = class extends RealDate {
      constructor(...args) { super(...(args.length === 0 ? [now()] : args)) }
      static now = now
    }`)}`

/** Replaces what differs between runs: keys (by order of appearance), times, sizes, and seconds. */
function masked(printed: readonly { command: string; output: string }[]): string {
  const kids = new Map<string, string>()
  return printed
    .map(({ command, output }) => `$ ${command}\n${output}`)
    .join('\n')
    .replaceAll(
      /[\w-]{43}(?= )/g,
      (kid) => kids.get(kid) ?? kids.set(kid, `key ${kids.size + 1}`).get(kid) ?? '',
    )
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'moment')
    .replaceAll(/\b(600|599) s\b/g, '600 s')
    .replaceAll(/"keys":\[.*\]/g, '"keys":[...]')
    .replaceAll(/ *\d+\.\d kB/g, ' # kB')
    .replaceAll(/ {2,}/g, '  ')
}
