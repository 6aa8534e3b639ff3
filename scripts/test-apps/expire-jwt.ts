import { createPrivateKey, sign } from 'node:crypto'

/** Returns a JWT with the same claims that expired a minute ago, signed with the first Ed25519 key. */
export function expireJwt(jwt: string, signingKeys: string): string {
  const { keys }: { keys: object[] } = JSON.parse(signingKeys)
  const [header = '', payload = ''] = jwt.split('.')
  const claims: { iat: number; exp: number } = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const exp = Math.floor(Date.now() / 1000) - 60
  const expired = { ...claims, iat: claims.iat - claims.exp + exp, exp }
  const signed = `${header}.${Buffer.from(JSON.stringify(expired)).toString('base64url')}`
  const key = createPrivateKey({ key: { ...keys[0] }, format: 'jwk' })
  return `${signed}.${sign(null, Buffer.from(signed), key).toString('base64url')}`
}
