import { type Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { envFileStore, formatEnv, type KeyStore, keyFileStore } from '../key-file/key-store.ts'
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
import { describeKeys, formatTable } from './key-table.ts'
import { positiveInteger } from './options.ts'

interface Place {
  readonly keyFile?: string
  readonly env?: string
  readonly prefix?: string
  readonly json?: true
}

type Timed = Place & { readonly jwtLifetime: number }

/** Adds `sallyport keys`, which manages the keys that sign and verify JWTs. */
export function addKeysCommands(program: Command): void {
  const keys = program
    .command('keys')
    .description('create, list, rotate, retire, and export the keys that sign JWTs')

  const add = (name: string, description: string) =>
    keys
      .command(name)
      .description(description)
      .addOption(new Option('-f, --key-file <path>', 'file that has only the keys').env('KEY_FILE'))
      .addOption(
        // Not --env-file: Node would read it as its own option, and exit if the file doesn't exist.
        new Option('-e, --env <path>', 'env file with JWKS and SIGNING_KEYS').conflicts('keyFile'),
      )
      .addOption(name === 'export' ? variablePrefix() : variablePrefix().conflicts('keyFile'))
      .option('--json', 'print JSON')

  add(
    'create',
    'make a key: the first signs, a later one is published to sign next; without a file, print variables',
  )
    .addOption(
      new Option('-a, --algorithm <name>', 'signature algorithm').choices(ALGORITHMS).default(ALGORITHMS[0]),
    )
    .addOption(jwtLifetime())
    .action(async ({ algorithm, jwtLifetime, ...place }: Timed & { algorithm: Algorithm }) => {
      const key = await createSigningKey(algorithm)
      const options = { now: new Date(), jwtLifetimeSeconds: jwtLifetime }
      const store = storeOf(place)
      const first = createKeyRing(key, options.now)
      if (store === null)
        return console.log(place.json ? formatKeyRing(first) : formatEnv(first, place.prefix))
      if (store.create(first)) return print(first, place)
      const ring = store.update((current) => addNextKey(current, key, options))
      print(ring, place)
    })

  add('list', 'show every key, its state and what comes next').action((place: Place) =>
    print(read(place), place),
  )

  add('rotate', 'let the next key sign and the active one retire')
    .option('--force', 'rotate although some verifiers may not know the next key yet')
    .addOption(jwtLifetime())
    .action(({ force = false, jwtLifetime, ...place }: Timed & { force?: boolean }) => {
      const options = { now: new Date(), force, jwtLifetimeSeconds: jwtLifetime }
      const ring = required(place).update((current) => rotateKeys(current, options))
      print(ring, place)
    })

  add('retire', 'take a key out of service')
    .argument('<kid>', 'id of the key')
    .option('--now', 'it has leaked: from now on, nothing it signed is valid')
    .addOption(jwtLifetime())
    .action((kid: string, { now: hasLeaked, jwtLifetime, ...place }: Timed & { now?: true }) => {
      const options = { now: new Date(), force: false, jwtLifetimeSeconds: jwtLifetime }
      const change = (ring: KeyRing) =>
        hasLeaked ? revokeKey(ring, kid, options.now) : retireKey(ring, kid, options)
      print(required(place).update(change), place)
    })

  add('export', 'print the public keys as a JWK Set')
    .option('--private', 'print the variables JWKS and SIGNING_KEYS instead, with the private keys')
    .action(({ private: withPrivate, ...place }: Place & { private?: true }) => {
      const ring = read(place)
      if (withPrivate) console.log(place.json ? formatKeyRing(ring) : formatEnv(ring, place.prefix))
      else console.log(JSON.stringify(publicKeys(ring)))
    })
}

function jwtLifetime(): Option {
  return new Option('--jwt-lifetime <seconds>', 'how long the longest JWT lives')
    .default(JWT_LIFETIME_SECONDS)
    .argParser(positiveInteger)
}

function variablePrefix(): Option {
  return new Option(
    '--prefix <prefix>',
    'begins the names of the variables, such as SERVICE_ for keys of services',
  ).argParser((value) => {
    if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(value)) return value
    throw new InvalidArgumentError('It must be letters, digits and underscores.')
  })
}

function storeOf({ keyFile, env, prefix }: Place): KeyStore | null {
  if (env !== undefined) return envFileStore(env, prefix)
  return keyFile === undefined ? null : keyFileStore(keyFile)
}

function required(place: Place): KeyStore {
  const store = storeOf(place)
  if (store !== null) return store
  throw new CommanderError(1, 'sallyport.place', 'Pass the file with the keys as --key-file or --env')
}

function read(place: Place): KeyRing {
  const store = required(place)
  const ring = store.read()
  if (ring === null)
    throw new ConfigurationError(`${store.path} holds no keys yet. Run "sallyport keys create".`)
  return ring
}

function print(ring: KeyRing, { json }: Place): void {
  const rows = describeKeys(ring, new Date())
  console.log(json ? JSON.stringify(rows, null, 2) : formatTable(rows))
}
