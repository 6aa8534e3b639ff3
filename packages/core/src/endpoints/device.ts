import Bowser from 'bowser'

/**
 * Describes the device of a `User-Agent`, such as `Firefox on macOS`, or `curl` for a program; null if it
 * can't be known. For people to recognize: clients can send any text.
 */
export function describeDevice(userAgent: string | null): string | null {
  if (userAgent === null || userAgent.trim() === '') return null
  const { browser, os, platform } = Bowser.parse(userAgent)
  const system = os.name ?? platform.model ?? platform.type
  if (browser.name && system) return `${browser.name} on ${system}`
  return browser.name || system || (userAgent.split(/[/\s]/)[0] ?? null)
}
