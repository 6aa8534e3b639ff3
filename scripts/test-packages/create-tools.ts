import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { install } from './create-project.ts'
import type { Library } from './pack-libraries.ts'
import { run } from './run.ts'

/** A version of TypeScript or of Node. */
export interface Tool {
  readonly version: string
  /** The executable file. */
  readonly path: string
}

/** The versions that the libraries are tested with. */
export interface Tools {
  readonly oldCompiler: Tool
  readonly newCompiler: Tool
  readonly oldestNode: Tool
  readonly middleNode: Tool
  readonly newestNode: Tool
}

const COMPILERS = { 'typescript-5.9': 'npm:typescript@~5.9.0', 'typescript-7': 'npm:typescript@^7.0.0' }

/** Installs the compilers, the lowest Node that `engines` allows, and the newest of the other lines. */
export function createTools(folder: string, [library]: readonly Library[]): Tools {
  const [, lowestNode] = /^>=(\d+\.\d+)$/.exec(library?.manifest.engines.node ?? '') ?? []
  if (lowestNode === undefined) throw new Error('engines.node must look like >=22.14')
  const nodes = {
    'node-lowest': `npm:node@${lowestNode}.0`,
    'node-24': 'npm:node@^24.0.0',
    'node-26': 'npm:node@^26.0.0',
  }
  mkdirSync(folder)
  const manifest = { private: true, dependencies: { ...COMPILERS, ...nodes } }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  install(folder)
  return {
    oldCompiler: compilerOf(folder, 'typescript-5.9'),
    newCompiler: compilerOf(folder, 'typescript-7'),
    oldestNode: nodeOf(folder, 'node-lowest'),
    middleNode: nodeOf(folder, 'node-24'),
    newestNode: nodeOf(folder, 'node-26'),
  }
}

function compilerOf(folder: string, name: string): Tool {
  const path = join(folder, 'node_modules', name)
  const { version }: { version: string } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
  return { version, path: join(path, 'bin/tsc') }
}

function nodeOf(folder: string, name: string): Tool {
  const path = join(folder, 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  return { version: run(path, ['--version'], { cwd: folder }).trim().slice(1), path }
}
