import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type {
  PasskeyAssertion,
  PasskeyAttestation,
  PasskeyCreationOptions,
  PasskeyRequestOptions,
} from '@sallyport/core/plugins/passkeys'
import { isoCBOR } from '@simplewebauthn/server/helpers'

/** What a test can forge. */
export interface Ceremony {
  readonly origin: string
  readonly rpId: string
  readonly challenge: string
  readonly type: string
  readonly crossOrigin: boolean
  /** Whether the authenticator has verified the user, by a PIN or a fingerprint. */
  readonly isVerified: boolean
  readonly isSynced: boolean
  readonly counter: number
  readonly userHandle: string | null
}

type Cbor = Parameters<typeof isoCBOR.encode>[0]
type Changes = Partial<Ceremony>

const USER_PRESENT = 0x01
const USER_VERIFIED = 0x04
const BACKUP_ELIGIBLE = 0x08
const HAS_CREDENTIAL = 0x40

/** An authenticator in software with one ES256 passkey, for responses that a real one can't give. */
export class Authenticator {
  readonly id: string = randomBytes(32).toString('base64url')
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  #userHandle: string | null = null
  counter = 1

  create(
    options: Pick<PasskeyCreationOptions, 'challenge' | 'rp' | 'user'>,
    changes: Changes = {},
  ): PasskeyAttestation {
    this.#userHandle = options.user.id
    const ceremony = this.#ceremony('webauthn.create', { ...options, rpId: options.rp.id }, changes)
    const id = Buffer.from(this.id, 'base64url')
    const length = Buffer.alloc(2)
    length.writeUInt16BE(id.length)
    const credential = Buffer.concat([Buffer.alloc(16), length, id, this.#publicKey()])
    const authData = Buffer.concat([authenticatorData(ceremony, HAS_CREDENTIAL), credential])
    const object = new Map<string, Cbor>([
      ['fmt', 'none'],
      ['attStmt', new Map<string, Cbor>()],
      ['authData', new Uint8Array(authData)],
    ])
    const attestationObject = Buffer.from(isoCBOR.encode(object)).toString('base64url')
    const clientDataJSON = clientData(ceremony).toString('base64url')
    return {
      id: this.id,
      rawId: this.id,
      type: 'public-key',
      response: { clientDataJSON, attestationObject },
    }
  }

  get(options: Pick<PasskeyRequestOptions, 'challenge' | 'rpId'>, changes: Changes = {}): PasskeyAssertion {
    this.counter++
    const ceremony = this.#ceremony('webauthn.get', options, changes)
    const [data, client] = [authenticatorData(ceremony), clientData(ceremony)]
    const signature = sign('sha256', Buffer.concat([data, hash(client)]), this.#keys.privateKey)
    const { userHandle } = ceremony
    return {
      id: this.id,
      rawId: this.id,
      type: 'public-key',
      response: {
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: signature.toString('base64url'),
        ...(userHandle !== null && { userHandle }),
      },
    }
  }

  #ceremony(type: string, options: { challenge: string; rpId: string }, changes: Changes): Ceremony {
    const { challenge, rpId } = options
    return {
      origin: 'http://localhost:3000',
      rpId,
      challenge,
      type,
      crossOrigin: false,
      isVerified: true,
      isSynced: false,
      counter: this.counter,
      userHandle: this.#userHandle,
      ...changes,
    }
  }

  #publicKey(): Buffer {
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' })
    const bytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64url'))
    const key = new Map<number, Cbor>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, bytes(x)],
      [-3, bytes(y)],
    ])
    return Buffer.from(isoCBOR.encode(key))
  }
}

/** WebAuthn level 3, section 6.1. */
function authenticatorData({ rpId, isVerified, isSynced, counter }: Ceremony, added = 0): Buffer {
  const flags = USER_PRESENT | (isVerified ? USER_VERIFIED : 0) | (isSynced ? BACKUP_ELIGIBLE : 0) | added
  const rest = Buffer.alloc(5)
  rest.writeUInt8(flags)
  rest.writeUInt32BE(counter, 1)
  return Buffer.concat([hash(rpId), rest])
}

function clientData({ type, challenge, origin, crossOrigin }: Ceremony): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin }))
}

function hash(text: string | Buffer): Buffer {
  return createHash('sha256').update(text).digest()
}
