import { Command, Option } from 'commander'
import { ALGORITHMS, type Algorithm } from '../keys/key-set.ts'
import { createSigningKey, parseSigningKeys } from '../keys/signing-keys.ts'

/** `sallyport keys`: the keys that sign and verify JWTs. */
export function keysCommand(): Command {
  const create = new Command('create')
    .description('print a new key pair as the environment variables JWKS (public) and SIGNING_KEYS (secret)')
    .addOption(
      new Option('-a, --algorithm <name>', 'signature algorithm').choices(ALGORITHMS).default('Ed25519'),
    )
    .action(async ({ algorithm }: { algorithm: Algorithm }) => {
      const signingKeys = { keys: [await createSigningKey(algorithm)] }
      console.log(`JWKS='${JSON.stringify(parseSigningKeys(signingKeys).publicJwks)}'`)
      console.log(`SIGNING_KEYS='${JSON.stringify(signingKeys)}'`)
    })
  return new Command('keys').description('make the keys that sign and verify JWTs').addCommand(create)
}
