import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  differingFiles,
  missingFiles,
  withFiles,
  writeFiles,
} from '../../../src/cli/generate/generated-files.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const directory = temporaryDirectory()
const FILES = { 'auth.ts': 'auth\n', 'session.ts': 'session\n', 'database.ts': 'database\n' }
const newFolder = () => join(directory, crypto.randomUUID())
const contents = (folder: string) =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]))

describe('files are written', () => {
  test('into a folder that is made, with nothing beside them', () => {
    const folder = join(newFolder(), 'deep')
    expect(missingFiles(folder, FILES)).toHaveLength(3)
    expect(writeFiles(folder, FILES)).toEqual(Object.keys(FILES).map((name) => join(folder, name)))
    expect(contents(folder)).toEqual(FILES)
    expect(missingFiles(folder, FILES)).toEqual([])
  })

  test('where they differ alone: the others are not touched', () => {
    const folder = newFolder()
    writeFiles(folder, FILES)
    const before = statSync(join(folder, 'auth.ts'))
    writeFileSync(join(folder, 'session.ts'), 'old')
    expect(differingFiles(folder, FILES)).toEqual([join(folder, 'session.ts')])
    expect(writeFiles(folder, FILES)).toEqual([join(folder, 'session.ts')])
    const { ino, mtimeMs } = statSync(join(folder, 'auth.ts'))
    expect({ ino, mtimeMs }).toEqual({ ino: before.ino, mtimeMs: before.mtimeMs })
    expect(differingFiles(folder, FILES)).toEqual([])
  })

  test('at one stroke: whoever has the old one open goes on reading it', () => {
    const folder = newFolder()
    writeFiles(folder, { ...FILES, 'auth.ts': 'old' })
    const before = statSync(join(folder, 'auth.ts'))
    writeFiles(folder, FILES)
    expect(statSync(join(folder, 'auth.ts')).ino).not.toBe(before.ino)
  })

  test('line ends of another system are no difference', () => {
    const folder = newFolder()
    writeFiles(folder, { ...FILES, 'auth.ts': 'auth\r\n' })
    expect(differingFiles(folder, FILES)).toEqual([])
  })
})

describe('files that stand in while something is done', () => {
  test('are those that are missing, and gone when it is done', async () => {
    const folder = newFolder()
    mkdirSync(folder)
    writeFileSync(join(folder, 'auth.ts'), 'mine')
    const seen = await withFiles(folder, FILES, async () => contents(folder))
    expect(seen).toEqual({ ...FILES, 'auth.ts': 'mine' })
    expect(contents(folder)).toEqual({ 'auth.ts': 'mine' })
  })

  test('are gone when it fails, with the folder that was made for them', async () => {
    const folder = newFolder()
    const failure = new Error('broken')
    await expect(withFiles(folder, FILES, () => Promise.reject(failure))).rejects.toBe(failure)
    expect(existsSync(folder)).toBe(false)
  })

  test('are gone when it fails, and what was there stays', async () => {
    const folder = newFolder()
    mkdirSync(folder)
    writeFileSync(join(folder, 'auth.ts'), 'mine')
    await expect(withFiles(folder, FILES, () => Promise.reject(new Error('broken')))).rejects.toThrow(
      'broken',
    )
    expect(contents(folder)).toEqual({ 'auth.ts': 'mine' })
  })

  test('are gone when it fails, and an empty folder that was there stays', async () => {
    const folder = newFolder()
    mkdirSync(folder)
    await expect(withFiles(folder, FILES, () => Promise.reject(new Error('broken')))).rejects.toThrow(
      'broken',
    )
    expect(contents(folder)).toEqual({})
  })

  test('and what has been put beside them meanwhile stays', async () => {
    const folder = newFolder()
    const work = async () => {
      writeFileSync(join(folder, 'own.ts'), 'own')
      throw new Error('broken')
    }
    await expect(withFiles(folder, FILES, work)).rejects.toThrow('broken')
    expect(contents(folder)).toEqual({ 'own.ts': 'own' })
  })

  test('and one that has been replaced meanwhile stays', async () => {
    const folder = newFolder()
    await withFiles(folder, FILES, async () => writeFiles(folder, { ...FILES, 'auth.ts': 'real' }))
    expect(contents(folder)).toEqual({ 'auth.ts': 'real' })
  })

  test('nothing of it is left to do at the end of the process', async () => {
    const before = process.listenerCount('exit')
    await withFiles(newFolder(), FILES, async () => {})
    await withFiles(newFolder(), FILES, () => Promise.reject(new Error('broken'))).catch(() => {})
    expect(process.listenerCount('exit')).toBe(before)
  })
})
