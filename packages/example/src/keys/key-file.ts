import { type KeyFile, openKeyFile } from '@sallyport/core/auth'

const files = new Map<string, Promise<KeyFile>>()

/**
 * Opens a file with keys, for development. The first start creates it. Changes are picked up without a
 * restart, such as by `sallyport keys rotate --key-file data/keys.json`.
 */
export function keyFile(path: string): Promise<KeyFile> {
  const file = files.get(path) ?? openKeyFile(path)
  files.set(path, file)
  return file
}
