import type { FactorEmail } from '@sallyport/core/plugins/totp'
import { totp } from '@sallyport/core/plugins/totp'
import { createTestAuth, type TestAuth } from '@sallyport/core/testing'
import { TOTP } from 'otpauth'
import { afterAll } from 'vitest'
import { openBrowser } from '../../support/open-browser.ts'
import { createOutbox } from '../../support/outbox.ts'

const PERIOD_SECONDS = 30

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
    codeOf: (secret: string) => codeOf(secret, auth),
  }
}

function codeOf(secret: string, { clock }: Pick<TestAuth, 'clock'>): string {
  return new TOTP({ secret, period: PERIOD_SECONDS }).generate({ timestamp: clock.now().getTime() })
}
