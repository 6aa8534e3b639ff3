import { createTestAuth } from '@sallyport/core/testing'
import { sql } from 'kysely'
import { asksExample, checkShell } from './check-shell.ts'
import type { Block, Document } from './read-documents.ts'

type Check = (block: Block, document: Document) => string[] | Promise<string[]>

/** The check for blocks of each language. Returns the faults of a block. */
const CHECKS: Readonly<Record<string, Check>> = {
  // Compiled together, by `compileBlocks`.
  ts: () => [],
  tsx: () => [],
  // Built by the apps of `pnpm test:apps`.
  svelte: () => [],
  vue: () => [],
  sh(block, document) {
    if (!asksExample(block)) return checkShell(block, document)
    return block.prints === null ? ['say in a comment "prints" what the commands print'] : []
  },
  // Run: those of the example in `example/test/documents.test.ts`, the others in `console.test.ts`.
  console: ({ code }) => (code.startsWith('$ ') ? [] : ['a console begins with a command, behind "$ "']),
  json({ code }) {
    try {
      JSON.parse(code)
      return []
    } catch (error) {
      return [String(error)]
    }
  },
  html: checkHtml,
  nginx: checkNginx,
  sql: runSql,
  text: checkText,
  // A drawing, or lines that a program has printed.
  '': checkText,
}

/** Returns the faults of a block, without those that the compiler finds. */
export async function checkBlock(block: Block, document: Document): Promise<string[]> {
  const check = CHECKS[block.language]
  const faults = check
    ? await check(block, document)
    : [`blocks of the language "${block.language}" have no check; use ${Object.keys(CHECKS).join(', ')}`]
  return faults.map((fault) => `${document.path}:${block.line}: ${fault}`)
}

const VOID = ['!doctype', 'meta', 'link', 'input', 'br', 'hr', 'img']

/** Each element ends, and each script of the app is a block of the page. */
function checkHtml({ code }: Block, { blocks }: Document): string[] {
  const open: string[] = []
  for (const [, end, name = ''] of code.replaceAll(/<!--.*?-->/gs, '').matchAll(/<(\/?)([!\w-]+)[^>]*>/g)) {
    if (VOID.includes(name.toLowerCase())) continue
    if (!end) open.push(name)
    else if (open.pop() !== name) return [`</${name}> ends nothing`]
  }
  const missing = Array.from(code.matchAll(/src="\/src\/([^"]+)"/g), ([, name]) => name).filter(
    (name) => !blocks.some((block) => block.name === name),
  )
  return [
    ...open.map((name) => `<${name}> does not end`),
    ...missing.map((name) => `the page has no block "${name}"`),
  ]
}

/** Each statement ends, as a block or with a semicolon, and hands on to the server that the pages tell of. */
function checkNginx({ code }: Block): string[] {
  const lines = code.split('\n').map((line) => line.replace(/#.*$/, '').trim())
  const faults = lines
    .filter((line) => line !== '' && !/[;{}]$/.test(line))
    .map((line) => `"${line}" does not end`)
  const depth = code.replaceAll(/#.*$/gm, '').replaceAll(/[^{}]/g, '')
  if (depth.replaceAll('{', '').length * 2 !== depth.length) faults.push('a block is not closed')
  const target = /proxy_pass (\S+);/.exec(code)?.[1]
  if (target && !/^http:\/\/(127\.0\.0\.1|localhost):3000$/.test(target))
    faults.push(`no server of the documents listens on ${target}`)
  return faults
}

/** Runs the statements on the tables that there are. */
async function runSql({ code }: Block): Promise<string[]> {
  const auth = await createTestAuth()
  const faults: string[] = []
  for (const statement of code.split(';').filter((text) => text.trim() !== ''))
    await sql
      .raw(statement)
      .execute(auth.db)
      .catch((error: unknown) => faults.push(String(error)))
  await auth.close()
  return faults
}

const CODE =
  /^\s*((import|export|const|let|await|return|function|interface|async|curl|npm|npx|pnpm|node|sallyport|select|insert|update|delete from|create) |\$ |[{}<"'])|[;{]\s*$/

/** Drawings and what programs print have no language. Nothing in there may be code, which would have one. */
function checkText({ code }: Block): string[] {
  const line = code.split('\n').find((text) => CODE.test(text))
  return line === undefined ? [] : [`this is code, so it needs its language: ${line.trim()}`]
}
