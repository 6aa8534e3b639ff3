import { fileURLToPath } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'
import { type Site, type SiteOptions, servePage } from '../browser/serve-page.ts'

/** The newest client with the adapter of 11.22.1, or everything in that version. */
export type TrpcVersion = '11.25.2' | '11.22.1'

const scripts = new Map<string, Promise<string>>()

/**
 * Serves a page with React's development build, which runs effects twice and reports hydration mismatches.
 */
export function serveApp({
  trpc = '11.25.2',
  ...options
}: Pick<SiteOptions, 'entry' | 'handler' | 'router'> & { trpc?: TrpcVersion }): Promise<Site> {
  async function bundle(file: string): Promise<string> {
    const key = `${trpc} ${file}`
    const script = scripts.get(key) ?? build(file, trpc)
    scripts.set(key, script)
    return script
  }
  return servePage({ ...options, bundle })
}

async function build(file: string, trpc: TrpcVersion): Promise<string> {
  const bundle = await rolldown({
    input: file,
    platform: 'browser',
    plugins: trpc === '11.22.1' ? [fromOlderSet] : [],
    transform: { jsx: 'react-jsx', define: { 'process.env.NODE_ENV': '"development"' } },
    onLog(level, log, print) {
      // Each file of TanStack Query has a `use client` directive, which only servers need.
      if (log.code !== 'MODULE_LEVEL_DIRECTIVE') print(level, log)
    },
  })
  const { output } = await bundle.generate({ format: 'iife', name: 'bundled', codeSplitting: false })
  await bundle.close()
  return output[0].code
}

const olderSet = fileURLToPath(new URL('../versions/trpc-11-22/package.json', import.meta.url))

const fromOlderSet: Plugin = {
  name: 'from-older-set',
  resolveId(id, _importer, options) {
    return /^@trpc\//.test(id) ? this.resolve(id, olderSet, { ...options, skipSelf: true }) : null
  },
}
