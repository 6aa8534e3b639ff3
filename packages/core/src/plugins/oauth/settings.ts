import type { OauthLimits, OauthOptions } from './options.ts'
import type { Provider } from './providers.ts'

export interface Settings {
  readonly providers: Readonly<Record<string, Provider>>
  readonly redirects: readonly string[]
  readonly errorTo: string
  readonly sendEmail?: OauthOptions['sendEmail']
  readonly limits: OauthLimits
}
