import { base64url } from 'jose'

/** SHA-256 of the bytes of a body in base64url. */
export async function digestBody(body: Uint8Array<ArrayBuffer>): Promise<string> {
  return base64url.encode(new Uint8Array(await crypto.subtle.digest('SHA-256', body)))
}
