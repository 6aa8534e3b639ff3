/** Returns the token after the `#` of the page's URL. @throws Error without one */
export function readLinkToken(): string {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (!token) throw new Error('This link is incomplete. Open the whole link from the email.')
  return token
}
