import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Project } from './create-project.ts'
import type { Tool } from './create-tools.ts'

/** How a project may have its modules resolved. */
export const RESOLUTIONS = ['nodenext', 'bundler'] as const
export type Resolution = (typeof RESOLUTIONS)[number]

const MODULES = {
  nodenext: { module: 'nodenext' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
} as const satisfies Record<Resolution, object>

/** What a project with both libraries needs: the README of each says so. */
const OPTIONS = {
  target: 'es2024',
  lib: ['es2024', 'dom'],
  types: ['node'],
  jsx: 'react-jsx',
  strict: true,
  skipLibCheck: false,
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
  rootDir: 'src',
}

/**
 * Declarations that are wrong in themselves, whatever imports them: before 11.25 those of tRPC's adapter ask for types of `ws` that no
 * ES module has.
 */
const WRONG_ELSEWHERE = /^node_modules\/@trpc\/server\/dist\/adapters\/ws\.d\.mts\(.*Namespace 'WebSocket'/

/** Checks the app and every declaration that it imports, those of the libraries and of their dependencies alike. */
export function typeCheck(project: Project, compiler: Tool, resolution: Resolution): void {
  compile(project, compiler, { ...OPTIONS, ...MODULES[resolution], noEmit: true })
}

/** Compiles the app to `out`, for every Node alike. */
export function emit(project: Project, compiler: Tool): void {
  compile(project, compiler, { ...OPTIONS, ...MODULES.nodenext, outDir: 'out' })
}

function compile({ folder }: Project, compiler: Tool, compilerOptions: object): void {
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }, null, 2))
  const args = [compiler.path, '-p', '.', '--pretty', 'false']
  const { status, stdout, error } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  if (error) throw error
  // Lines that explain a complaint are indented.
  const complaints = stdout.split(/\n(?! )/).filter((complaint) => complaint !== '')
  if ((status === 0) !== (complaints.length === 0)) throw new Error(`tsc ended with ${status}: ${stdout}`)
  const ours = complaints.filter((complaint) => !WRONG_ELSEWHERE.test(complaint))
  if (ours.length > 0) throw new Error(ours.join('\n'))
}
