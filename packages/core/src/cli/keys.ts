import { type Command, InvalidArgumentError, Option } from 'commander'
import { envFileStore, exists, formatEnv, type KeyStore, keyFileStore } from '../key-file/key-store.ts'
import {
  addNextKey,
  createKeyRing,
  type KeyRing,
  publicKeys,
  retireKey,
  revokeKey,
  rotateKeys,
} from '../keys/key-ring.ts'
import { formatKeyRing } from '../keys/key-ring-json.ts'
import { ALGORITHMS, type Algorithm } from '../keys/key-set.ts'
import { createSigningKey } from '../keys/signing-keys.ts'
import { ConfigurationError } from '../protocol/errors.ts'
import { JWT_LIFETIME_SECONDS } from '../protocol.ts'
import { unchanged, usageError } from './errors.ts'
import { describeKeys, formatTable } from './key-table.ts'
import { addExamples, positiveInteger } from './options.ts'

interface Place {
  readonly keyFile?: string
  readonly env?: string
  readonly prefix?: string
  readonly json?: true
}

type Timed = Place & { readonly jwtLifetime: number }
type CreateOptions = Timed & { readonly algorithm: Algorithm; readonly create?: true }

export function addKeysCommands(program: Command): void {
  const keys = program
    .command('keys')
    .description('create, list, rotate, retire, and export the keys that sign JWTs')
  addExamples(
    keys,
    'keys create --env .env --create',
    'keys list --env .env',
    'keys create -f data/keys.json --create',
  )

  const add = (name: string, description: string, ...examples: readonly string[]) =>
    addExamples(keys.command(name), ...examples.map((example) => `keys ${name}${example}`))
      .description(description)
      .addOption(new Option('-f, --key-file <path>', 'file that has only the keys').env('KEY_FILE'))
      .addOption(
        // Not --env-file: Node would read it as its own option, and exit if the file doesn't exist.
        new Option('-e, --env <path>', 'env file with JWKS and SIGNING_KEYS').conflicts('keyFile'),
      )
      .addOption(name === 'export' ? variablePrefix() : variablePrefix().conflicts('keyFile'))
      .option('--json', 'print JSON, also for errors')

  add(
    'create',
    'add a key: the first one signs, a later one is published to sign next; without a file, print variables',
    ' >> .env',
    ' -f data/keys.json --create',
    ' --env .env',
  )
    .addOption(new Option('-a, --algorithm <name>').choices(ALGORITHMS).default(ALGORITHMS[0]))
    .option('--create', 'create the file if it is missing')
    .addOption(jwtLifetime())
    .action(async ({ algorithm, create, jwtLifetime, ...place }: CreateOptions) => {
      const store = storeOf(place)
      // A mistyped path must not become a second key ring.
      if (store !== null && !create && !exists(store.path)) throw missingKeys(place)
      const key = await createSigningKey(algorithm)
      const options = { now: new Date(), jwtLifetimeSeconds: jwtLifetime }
      const first = createKeyRing(key, options.now)
      if (store === null) return printSecrets(first, place)
      const ring = store.create(first) ? first : store.update((ring) => addNextKey(ring, key, options))
      print(ring, place)
    })

  add('list', 'show every key, its state, and what comes next', ' --env .env').action((place: Place) =>
    print(openRing(place).ring, place),
  )

  add('rotate', 'let the next key sign, and retire the active one', ' --env .env')
    .option('--force', 'rotate even if some verifiers may not know the next key yet')
    .addOption(jwtLifetime())
    .action(({ force = false, jwtLifetime, ...place }: Timed & { force?: boolean }) => {
      const options = { now: new Date(), force, jwtLifetimeSeconds: jwtLifetime }
      const ring = openRing(place).store.update((current) => rotateKeys(current, options))
      print(ring, place)
    })

  add('retire', 'take a key out of service', ' <kid> --env .env', ' <kid> --now --env .env   # it leaked')
    .argument('<kid>', 'id of the key')
    .option('--now', 'the key has leaked: from now on, nothing it signed is valid')
    .addOption(jwtLifetime())
    .action((kid: string, { now: hasLeaked = false, jwtLifetime, ...place }: Timed & { now?: boolean }) => {
      const options = { now: new Date(), force: false, jwtLifetimeSeconds: jwtLifetime }
      const change = (ring: KeyRing) => {
        requireInService(ring, kid, hasLeaked)
        return hasLeaked ? revokeKey(ring, kid, options.now) : retireKey(ring, kid, options)
      }
      print(openRing(place).store.update(change), place)
    })

  add('export', 'print the public keys as a JWK Set', ' -f data/keys.json', ' --private --env .env')
    .option('--private', 'print the variables JWKS and SIGNING_KEYS instead, with the private keys')
    .action(({ private: withPrivate, ...place }: Place & { private?: true }) => {
      const { ring } = openRing(place)
      if (withPrivate) printSecrets(ring, place)
      else console.log(JSON.stringify(publicKeys(ring)))
    })
}

function jwtLifetime(): Option {
  return new Option('--jwt-lifetime <seconds>', 'lifetime of the longest-lived JWT')
    .default(JWT_LIFETIME_SECONDS)
    .argParser(positiveInteger)
}

function variablePrefix(): Option {
  return new Option(
    '--prefix <prefix>',
    'start of the variable names, such as SERVICE_ for keys of services',
  ).argParser((value) => {
    if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(value)) return value
    throw new InvalidArgumentError('It must be letters, digits, and underscores, and not start with a digit.')
  })
}

function storeOf({ keyFile, env, prefix }: Place): KeyStore | null {
  if (env !== undefined) return envFileStore(env, prefix)
  return keyFile === undefined ? null : keyFileStore(keyFile)
}

/** @throws CommanderError without a place, and ConfigurationError if it has no keys */
function openRing(place: Place): { store: KeyStore; ring: KeyRing } {
  const store = storeOf(place)
  if (store === null) {
    const variable = `${place.prefix ?? ''}SIGNING_KEYS`
    throw usageError(`Pass the file with the keys as --key-file, or an env file with ${variable} as --env.`)
  }
  const ring = store.read()
  if (ring === null) throw missingKeys(place)
  return { store, ring }
}

function missingKeys({ keyFile, env, prefix }: Place): ConfigurationError {
  const path = env ?? keyFile ?? ''
  const argument = /\s/.test(path) ? `"${path}"` : path
  const file = `${env === undefined ? '--key-file' : '--env'} ${argument}`
  const options = `${prefix === undefined ? '' : `--prefix ${prefix} `}${file} --create`
  return new ConfigurationError(
    `${path} has no keys. Check the path, or create the first key with \`sallyport keys create ${options}\`.`,
  )
}

/** @throws CommanderError if retiring or revoking the key would change nothing */
function requireInService({ keys, revoked }: KeyRing, kid: string, hasLeaked: boolean): void {
  const key = keys.find(({ jwk }) => jwk.kid === kid)
  if (key !== undefined && (hasLeaked || key.state !== 'retiring')) return
  const reason =
    key !== undefined
      ? `${kid} is retiring already. If it has leaked, pass --now.`
      : revoked.some((other) => other.kid === kid)
        ? `${kid} is revoked already.`
        : `Key ${kid} not found. Run "sallyport keys list" for the ids.`
  throw unchanged(reason)
}

function printSecrets(ring: KeyRing, { json, prefix }: Place): void {
  console.log(json ? formatKeyRing(ring) : formatEnv(ring, prefix))
}

function print(ring: KeyRing, { json }: Place): void {
  const rows = describeKeys(ring, new Date())
  console.log(json ? JSON.stringify(rows, null, 2) : formatTable(rows))
}
