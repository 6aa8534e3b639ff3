import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig, type Plugin } from 'vitest/config'

/** The tests that use tRPC's client in this process. Browser tests bundle their pages. */
const CLIENT_TESTS = 'packages/trpc/test/{links/*,ssr/{prefetch,many-users},versions/*}.test.ts'

const FILES = 'packages/*/test/**/*.test.{ts,tsx}'

/**
 * These run in a separate process: they mock modules, or fake or watch globals such as timers, `fetch`, the
 * console, or a prototype. The others run one after another in the processes of the workers, which load the
 * libraries once.
 */
const ALONE = [
  'packages/*/test/{client,hostile,versions}/**/*.test.{ts,tsx}',
  'packages/*/test/**/*.alone.test.ts',
  'packages/*/test/**/{auth,auth-handle,check-password,commit,deadline,env,feed}.test.ts',
  'packages/*/test/**/{mapping,open-key-file,session-lease,socket-limits}.test.ts',
  'packages/core/test/{database/postgres/find-session,lifecycle/prune}.test.ts',
  'packages/trpc/test/links/{auth-link-outages,on-server,web-socket-link}.test.ts',
  'packages/trpc/test/{links/auth-aware-retry,react/confirmation,react/server-rendering}.test.{ts,tsx}',
]

/** No secret in any log, error body, URL or database: checked after every test file. */
const LEAKS = 'packages/core/test/leaks/setup.ts'

const REMEMBER_HASHES = 'packages/core/test/support/remember-hashes.ts'

/** What `pnpm test:quick` leaves out: browsers, apps, black-box suites, other processes, and PostgreSQL. */
const SLOW = [
  'packages/example/**',
  'packages/*/test/{adapters,browser,cli,copies,crash,databases,documents,edge,hostile,leaks,model,next,paths,react}/**',
  'packages/*/test/{revocation,rotation,service-calls,sign-in-elsewhere,size,sockets,ssr,storm,transaction,types,versions}/**',
  'packages/trpc/test/keys/**',
  'packages/core/test/{database/{*,schema/*,postgres/**/*},support/*}.test.ts',
  'packages/core/test/**/{active-organization,consume-token,concurrent-changes,every-endpoint,run-once,*postgres}.test.ts',
]

// The mode is `quick` for `pnpm test:quick`, and `better-auth` for `pnpm test:better-auth`.
export default defineConfig(({ mode }) => ({
  test: {
    // Child processes and real servers on a busy machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // The default leaves one core idle. With four workers on two cores, tests wait for a core.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    env: {
      TMPDIR: temporaryDirectory(),
      // Processes share compiled code.
      NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/sallyport', import.meta.url)),
    },
    expect: { poll: { timeout: 30_000 } },
    // A server that a test closes also ends the streams that the test has fetched. False ignores the error.
    onUnhandledError: ({ message }) => (message === 'terminated' ? false : undefined),
    exclude: [...configDefaults.exclude, ...(mode === 'quick' ? SLOW : [])],
    projects: [
      { extends: true, test: { name: 'latest', include: ALONE, setupFiles: [LEAKS] } },
      {
        extends: true,
        test: {
          name: 'shared',
          include: [FILES],
          exclude: ALONE,
          isolate: false,
          setupFiles: [REMEMBER_HASHES, LEAKS],
        },
      },
      {
        extends: true,
        plugins: [resolveFrom('trpc-11-22', /^@(trpc|tanstack)\//)],
        test: {
          name: 'trpc-11-22',
          include: [CLIENT_TESTS],
          isolate: false,
          setupFiles: [LEAKS],
          env: { TRPC_VERSION: '11.22.1' },
        },
      },
      // `pnpm test:better-auth` also runs with the oldest supported version.
      ...(mode === 'better-auth'
        ? [
            {
              extends: true as const,
              plugins: [resolveFrom('better-auth-1-7-0', /^better-auth(\/|$)/)],
              test: {
                name: 'better-auth-1-7-0',
                include: ['packages/trpc/test/better-auth/**/*.test.ts'],
                isolate: false,
                setupFiles: [LEAKS],
                env: { BETTER_AUTH_VERSION: '1.7.0' },
              },
            },
          ]
        : []),
    ],
  },
}))

/** Returns the folder for the databases of tests: in memory if there is enough, because a disk is slower. */
function temporaryDirectory(): string {
  const memory = '/dev/shm'
  const isThere = existsSync(memory) && statfsSync(memory).bavail * statfsSync(memory).bsize > 4 * 2 ** 30
  const directory = mkdtempSync(join(isThere ? memory : tmpdir(), 'sallyport-run-'))
  // PostgreSQL runs as another user.
  chmodSync(directory, 0o755)
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** Resolves packages from that folder. TanStack Query comes with tRPC: the adapter fits only one version. */
function resolveFrom(folder: string, packages: RegExp): Plugin {
  const manifest = `./packages/trpc/test/versions/${folder}/package.json`
  const importer = fileURLToPath(new URL(manifest, import.meta.url))
  return {
    name: 'resolve-version',
    enforce: 'pre',
    resolveId(id, _importer, options) {
      return packages.test(id) ? this.resolve(id, importer, { ...options, skipSelf: true }) : null
    },
  }
}
