import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkWrongContexts } from '../../packages/trpc/test/types/check-wrong-contexts.ts'
import type { Project } from './create-project.ts'
import type { Tool } from './create-tools.ts'

/** The module resolutions to test. */
export const RESOLUTIONS = ['nodenext', 'bundler'] as const
export type Resolution = (typeof RESOLUTIONS)[number]

const MODULES = {
  nodenext: { module: 'nodenext' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
} as const satisfies Record<Resolution, object>

/** The compiler options that a project with both libraries needs, as in their READMEs. */
const OPTIONS = {
  target: 'es2024',
  lib: ['es2024', 'dom'],
  types: ['node'],
  jsx: 'react-jsx',
  strict: true,
  declaration: true,
  skipLibCheck: false,
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
  rootDir: 'src',
}

/** A known error in tRPC before 11.25: its adapter imports types of `ws` that no ES module exports. */
const WRONG_ELSEWHERE = /^node_modules\/@trpc\/server\/dist\/adapters\/ws\.d\.mts\(.*Namespace 'WebSocket'/

/** Checks the app and every declaration that it imports, also of dependencies. */
export function typeCheck(project: Project, compiler: Tool, resolution: Resolution): void {
  compile(project, compiler, { ...OPTIONS, ...MODULES[resolution], noEmit: true })
}

/** Checks what the compiler says about wrong contexts, beside the app. */
export function checkMessages({ folder }: Project, compiler: Tool): void {
  const compilerOptions = { ...OPTIONS, ...MODULES.nodenext, rootDir: '.', skipLibCheck: true, noEmit: true }
  checkWrongContexts(compiler.path, {
    folder: join(folder, 'wrong-contexts'),
    config: { compilerOptions },
  })
}

/** Compiles the app to `out`, for all versions of Node. */
export function emit(project: Project, compiler: Tool): void {
  compile(project, compiler, { ...OPTIONS, ...MODULES.nodenext, outDir: 'out' })
}

function compile({ folder }: Project, compiler: Tool, compilerOptions: object): void {
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }, null, 2))
  const args = [compiler.path, '-p', '.', '--pretty', 'false']
  const { status, stdout, error } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  if (error) throw error
  // Indented lines belong to the error above them.
  const complaints = stdout.split(/\n(?! )/).filter((complaint) => complaint !== '')
  if ((status === 0) !== (complaints.length === 0)) throw new Error(`tsc ended with ${status}: ${stdout}`)
  const ours = complaints.filter((complaint) => !WRONG_ELSEWHERE.test(complaint))
  if (ours.length > 0) throw new Error(ours.join('\n'))
}
