const MESSAGES: Readonly<Record<string, string>> = {
  name: 'Enter a name of 1 to 100 characters, without links.',
  email: 'Enter a valid email address.',
  username: 'Enter a username of 3 to 30 letters and digits, with "_", "-", or "." between them.',
  password: 'Enter a password of 8 to 256 characters.',
  newPassword: 'Enter a password of 8 to 256 characters.',
  token: 'This link is incomplete. Open the whole link from the email.',
}

/** Returns the message for a form with invalid fields. */
export const inputMessage = (fields: readonly string[]): string =>
  fields.map((field) => MESSAGES[field] ?? `Check the field "${field}".`).join(' ') || 'Check the form.'
