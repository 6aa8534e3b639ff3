import type { FactorEmail } from '@sallyport/core/plugins/totp'
import { totp } from '@sallyport/core/plugins/totp'
import { createTestAuth } from '@sallyport/core/testing'
import { afterAll } from 'vitest'
import { openBrowser } from '../../support/open-browser.ts'
import { createOutbox } from '../../support/outbox.ts'
import { totpCode } from '../../support/totp-code.ts'

export async function createTotpAuth(options: { trustedDeviceSeconds?: number } = {}) {
  const emails: FactorEmail[] = []
  const sendEmail = async (email: FactorEmail) => void emails.push(email)
  const outbox = createOutbox()
  const auth = await createTestAuth({
    emailPassword: { sendEmail: outbox.sendEmail },
    plugins: [totp({ issuer: 'Test', sendEmail, ...options })],
  })
  afterAll(() => auth.close())
  return {
    auth,
    emails,
    outbox,
    open: () => openBrowser(auth),
    codeOf: (secret: string) => totpCode(secret, auth),
  }
}
