import Bowser from 'bowser'

/**
 * What a `User-Agent` says of a device, such as `Firefox on macOS`; for a program its own name, such as `curl`. Null where it says
 * nothing. For a person to recognise: anyone can send any text.
 */
export function describeDevice(userAgent: string | null): string | null {
  if (userAgent === null || userAgent.trim() === '') return null
  const { browser, os, platform } = Bowser.parse(userAgent)
  const system = os.name ?? platform.model ?? platform.type
  if (browser.name && system) return `${browser.name} on ${system}`
  return browser.name || system || (userAgent.split(/[/\s]/)[0] ?? null)
}
