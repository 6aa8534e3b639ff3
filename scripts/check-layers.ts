import { cruise, format, type IForbiddenRuleType } from 'dependency-cruiser'

const CORE = '^packages/core/src'
const TRPC = '^packages/trpc/src'

/** The folders of core from the bottom up. A folder imports its own level and the ones below. */
const CORE_LEVELS = [
  ['protocol'],
  ['request', 'events', 'rate-limit', 'revocations'],
  ['jwt', 'keys', 'key-file', 'service'],
  ['session'],
  ['database'],
  ['lifecycle'],
  ['endpoints'],
  ['plugins', 'cli', 'testing'],
]

/** The imports that a folder of trpc may have, in addition to its own files. Includes types. */
const TRPC_IMPORTS = {
  server: [
    core('index', 'protocol', 'internal/server', 'auth'),
    npm('@trpc/server/dist/(index|http|observable/|adapters/fetch/)'),
    '^http$',
  ],
  runtime: [
    `${TRPC}/server/`,
    core('index', 'protocol', 'internal/server', 'internal/auth', 'auth'),
    npm('@trpc/(client|server)/'),
  ],
  action: [`${TRPC}/(server|runtime)/`, core('index', 'auth', 'internal/server'), npm('@trpc/server/')],
  client: [`${TRPC}/links/`, core('protocol', 'index'), npm('@trpc/(client|server)/')],
  links: [`${TRPC}/client/`, core('protocol'), npm('@trpc/(client|server)/')],
  react: [`${TRPC}/client/`, core('protocol'), npm('react/')],
  ssr: [core('index', 'protocol', 'internal/server'), npm('@trpc/server/dist/observable/')],
  'better-auth': [
    `${TRPC}/server/`,
    core('index', 'protocol', 'internal/server', 'sqlite', 'postgres'),
    npm('better-auth/'),
  ],
  next: [
    `${TRPC}/(react|server|ssr)/`,
    core('index', 'protocol'),
    npm('(next|react|@tanstack/react-query|@trpc/server)/'),
  ],
}

/** The plugins with an optional peer, which no other code may load. */
const PLUGIN_PEERS = {
  'email-password': npm('@node-rs/bcrypt/'),
  oauth: npm('openid-client/'),
  'open-telemetry': npm('@opentelemetry/'),
  passkeys: npm('@simplewebauthn/'),
  totp: npm('otpauth/'),
}

/** Modules, and the only ones that may load them. */
const LOADED_BY = [
  [core('auth'), `${CORE}/(plugins|testing)/`],
  [core('internal/auth'), `${TRPC}/runtime/(get-auth|select-adapter)[.]`],
  [`${TRPC}/runtime/http-adapter[.]`, `${TRPC}/runtime/select-adapter[.]`],
  [`${TRPC}/runtime/get-auth[.]`, `${TRPC}/(runtime|action)[.]`],
  [npm('better-sqlite3/'), `${CORE}/(database/sqlite|cli/doctor)/`],
  [npm('pg/'), `${CORE}/(database/postgres|cli/doctor)/`],
  ...Object.entries(PLUGIN_PEERS).map(([plugin, peer]) => [peer, `${CORE}/plugins/${plugin}/`] as const),
] as const

/** Packages that run on an edge runtime. */
const LIGHT = ['cookie', 'jose', '@fastify/proxy-addr', 'ipaddr[.]js']

/** The packages that a module may load, directly or through its imports. */
const REACHES = [
  { from: core('protocol'), packages: [] },
  { from: core('index'), packages: ['cookie', 'jose'] },
  { from: core('internal/server'), packages: LIGHT },
  { from: core('plugins/open-telemetry'), packages: ['@opentelemetry/api'] },
  { from: `${TRPC}/server[.]ts$`, packages: [...LIGHT, '@trpc/server'] },
  { from: `${TRPC}/runtime/runner/http-runner[.]ts$`, packages: [...LIGHT, '@trpc/(client|server)'] },
  { from: `${TRPC}/client/auth-client[.]ts$`, packages: [] },
  { from: `${TRPC}/client[.]ts$`, packages: ['@trpc/(client|server)'] },
  { from: `${TRPC}/react[.]ts$`, packages: ['react'] },
  { from: `${TRPC}/ssr[.]ts$`, packages: [...LIGHT, '@trpc/server'] },
  {
    from: `${TRPC}/next[.]ts$`,
    packages: [...LIGHT, 'next', 'react', '@(tanstack/react-query|trpc/server)'],
  },
]
/** The modules that a module must not load, directly or through its imports. */
const NEVER_REACHES = [
  { from: core('index', 'internal/server'), to: `${CORE}/(auth[.]|internal/auth[.]|endpoints/|plugins/)` },
  { from: core('index'), to: core('keys/signing-keys', 'request/address') },
  { from: core('auth', 'plugins/[^/]+'), to: npm('(better-sqlite3|pg)/') },
  { from: core('auth'), to: `${npm('@node-rs/argon2/')}|^(node:)?(fs|path|crypto|util)$` },
  { from: core('auth', 'internal/auth', 'sqlite', 'postgres'), to: Object.values(PLUGIN_PEERS).join('|') },
]

const atRunTime: IForbiddenRuleType[] = [
  { name: 'folder-cycle', scope: 'folder', from: {}, to: { circular: true } },
  { name: 'unresolved', from: {}, to: { couldNotResolve: true } },
  ...CORE_LEVELS.slice(0, -1).map((level, index) => ({
    name: 'core-level',
    from: { path: `${CORE}/(${level.join('|')})/` },
    to: {
      path: `${CORE}/((${CORE_LEVELS.slice(index + 1)
        .flat()
        .join('|')})/|(?!protocol[.])[^/]+$)`,
    },
  })),
  {
    name: 'engine',
    from: { path: `${CORE}/database/(schema/)?[^/]+$` },
    to: { path: `${CORE}/database/(postgres|sqlite)/` },
  },
  {
    name: 'engine',
    from: { path: `${CORE}/database/(postgres|sqlite)/` },
    to: { path: `${CORE}/database/(postgres|sqlite)/`, pathNot: `${CORE}/database/$1/` },
  },
  ...LOADED_BY.map(([path, importers]) => ({
    name: 'loaded-by',
    from: { path: `${CORE}/|${TRPC}/`, pathNot: importers },
    to: { path },
  })),
  ...REACHES.map(({ from, packages }) => ({
    name: 'reaches',
    from: { path: from },
    to: { path: '^(?!packages/)', pathNot: npm(`(${['none', ...packages].join('|')})/`), reachable: true },
  })),
  ...NEVER_REACHES.map(({ from, to }) => ({
    name: 'never-reaches',
    from: { path: from },
    to: { path: to, reachable: true },
  })),
]

const withTypes: IForbiddenRuleType[] = [
  { name: 'file-cycle', from: { pathNot: '/fixtures/circular/' }, to: { circular: true } },
  {
    name: 'core-imports',
    from: { path: CORE },
    to: { path: `^packages/(trpc|example)/|${npm('(@trpc/|react)')}` },
  },
  ...Object.entries(TRPC_IMPORTS).map(([folder, allowed]) => ({
    name: `trpc-${folder}`,
    from: { path: `${TRPC}/${folder}([.]|/)` },
    to: { pathNot: [`${TRPC}/${folder}/`, ...allowed] },
  })),
]

// Without a usable TypeScript, dependency-cruiser finds no sources and succeeds, hence `minModules`.
await check({ paths: ['packages/core/src', 'packages/trpc/src'], types: false, minModules: 250 }, atRunTime)
await check({ paths: ['packages'], types: true, minModules: 900 }, withTypes)

async function check(
  { paths, types, minModules }: { paths: string[]; types: boolean; minModules: number },
  rules: IForbiddenRuleType[],
): Promise<void> {
  const { output } = await cruise(paths, {
    ruleSet: { forbidden: rules.map((rule) => ({ ...rule, severity: 'error' })) },
    validate: true,
    tsPreCompilationDeps: types,
    exclude: { path: '^packages/[^/]+/(dist|src/generated)/' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'node'] },
  })
  if (typeof output === 'string') throw new Error('dependency-cruiser returned no graph. Check its version.')
  const { totalCruised, error } = output.summary
  const report = await format(output, { outputType: 'err' })
  console.log(report.output)
  const seesPackages = output.modules.some(({ source }) => source.includes(npm('jose/')))
  if (totalCruised < minModules || !seesPackages)
    throw new Error('The graph is incomplete. Run pnpm install, and check minModules.')
  if (error > 0) process.exitCode = 1
}

function core(...files: string[]): string {
  return `${CORE}/(${files.join('|')})[.]ts$`
}

function npm(name: string): string {
  return `/node_modules/${name}`
}
