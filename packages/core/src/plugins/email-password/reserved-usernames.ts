/** Returns whether a username, without its separators, is reserved: `a.d.m.i.n` is. */
export function isReservedUsername(username: string): boolean {
  return RESERVED.has(username.replace(/[._-]/g, ''))
}

/** Names that speak for the app, or that a URL may already have. RFC 2142 has the mailboxes. */
const NAMES = `
  abuse account accounts admin administrator administrators admins anonymous api app auth billing bot
  contact everyone guest help helpdesk home hostmaster info login logout mail me mod moderator
  moderators new noc noreply null official operator owner postmaster privacy profile root sales
  security self settings signin signout signup staff status superuser support sysadmin system team
  undefined user username users verified webmaster www
`

const RESERVED = new Set(NAMES.trim().split(/\s+/))
