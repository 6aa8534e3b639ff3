/** The names that users see for ways to sign in and second factors. */
const NAMES: Readonly<Record<string, string>> = {
  credential: 'Password',
  pwd: 'Password',
  demo: 'Demo provider',
  oauth: 'Provider',
  email: 'Email',
  passkey: 'Passkey',
  otp: 'Authenticator app',
  recovery: 'Recovery code',
}

export const methodName = (method: string): string => NAMES[method] ?? method
