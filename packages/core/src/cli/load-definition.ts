import { existsSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AuthDefinition } from '../endpoints/definition.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { messageOf } from './errors.ts'

/** Imports a module of the app. @throws ConfigurationError that says why it can't be loaded */
export function importModule<Module>(path: string): Promise<Module> {
  loadLikeBundlers()
  return import(pathToFileURL(resolve(path)).href).catch((cause: unknown) => {
    const hint = HINTS.get(codeOf(cause)) ?? ''
    throw new ConfigurationError(`${path} could not be loaded: ${messageOf(cause)}${hint}`, { cause })
  })
}

const ENDINGS = ['.ts', '/index.ts']
let isRegistered = false

/**
 * Finds `.ts` modules of the app that are imported without `.ts`, as bundlers do. Needs Node 22.15.
 * In apps without a `type` in package.json, as of create-next-app, Node would warn of detected ES modules.
 */
function loadLikeBundlers(): void {
  if (isRegistered) return
  isRegistered = true
  process.emitWarning = new Proxy(process.emitWarning, {
    apply(emit, receiver, args: unknown[]) {
      if (!args.some((option) => Object(option).code === 'MODULE_TYPELESS_PACKAGE_JSON'))
        Reflect.apply(emit, receiver, args)
    },
  })
  nodeModule.registerHooks?.({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context)
      } catch (error) {
        const { parentURL = '' } = context
        const isOfApp = parentURL.startsWith('file:') && !parentURL.includes('/node_modules/')
        const isThere = (ending: string) => existsSync(new URL(specifier + ending, parentURL))
        const ending = isOfApp && /^\.{1,2}\//.test(specifier) ? ENDINGS.find(isThere) : undefined
        if (ending === undefined) throw error
        return next(specifier + ending, context)
      }
    },
  })
}

/** Imports the module whose default export is the auth definition. @throws ConfigurationError */
export async function loadDefinition(path: string): Promise<AuthDefinition> {
  if (!existsSync(path))
    throw new ConfigurationError(`${path} doesn't exist. Pass the module with the auth definition as --auth.`)
  const module = await importModule<{ default?: AuthDefinition }>(path)
  if (module.default?.plugins !== undefined) return module.default
  throw new ConfigurationError(
    `${path}: the default export isn't an auth definition. Export what defineAuth() returns.`,
  )
}

const TSX = 'run "npm i -D tsx", and set NODE_OPTIONS="--import tsx".'
const MISSING = 'ERR_MODULE_NOT_FOUND'
const HINTS = new Map<unknown, string>([
  [
    MISSING,
    `. Node resolves no path aliases, and of the modules without a file extension only .ts. If your bundler finds the module, ${TSX}`,
  ],
  ['ERR_UNKNOWN_FILE_EXTENSION', `. Use Node 22.18 or later. For files other than .ts, ${TSX}`],
  ['ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX', `. If your bundler supports it, ${TSX}`],
])

const codeOf = (cause: unknown): unknown => (cause instanceof Error && 'code' in cause ? cause.code : null)

/** Returns a handler for a failed import that says which package to install. @throws ConfigurationError */
export function requirePackage(name: string): (cause: unknown) => never {
  return (cause) => {
    if (codeOf(cause) !== MISSING) throw cause
    throw new ConfigurationError(
      `This command needs ${name}, which is not installed. Run "npm install ${name}".`,
      { cause },
    )
  }
}
