import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { FrameQueue, WINDOW_MS } from '../../src/server/frame-queue.ts'

beforeEach(() => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
})

function openQueue({ framesPer100Ms = 50, overBudgetMs = 5_000 } = {}) {
  const scene = { handled: 0, isPaused: false, pauses: 0, isOver: false }
  const queue = new FrameQueue(
    { framesPer100Ms, overBudgetMs },
    {
      pause() {
        scene.pauses++
        scene.isPaused = true
      },
      resume() {
        scene.isPaused = false
      },
      onOverBudget() {
        scene.isOver = true
      },
    },
  )
  function deliver() {
    scene.handled++
    return false
  }
  function send(frames: number): void {
    for (let i = 0; i < frames; i++)
      if (queue.spend()) scene.handled++
      else queue.add(deliver)
  }
  return { scene, queue, send }
}

describe('the frame budget', () => {
  test('handles 50 frames in a window at once', () => {
    const { scene, send } = openQueue()
    send(50)
    expect(scene).toEqual({ handled: 50, isPaused: false, pauses: 0, isOver: false })
    vi.advanceTimersByTime(WINDOW_MS)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('holds for a turn of the event loop that takes longer than a window', () => {
    const { scene, queue } = openQueue()
    function deliver() {
      scene.handled++
      vi.setSystemTime(Date.now() + WINDOW_MS)
      return false
    }
    for (let i = 0; i < 9_000; i++) queue.add(deliver)
    expect(scene).toMatchObject({ handled: 50, isPaused: true })
  })

  test('makes the others wait, 50 for each window, and stops reading meanwhile', () => {
    const { scene, send } = openQueue()
    send(9_000)
    for (let windows = 1; windows <= 5; windows++) {
      expect(scene).toMatchObject({ handled: windows * 50, isPaused: true })
      vi.advanceTimersByTime(WINDOW_MS)
    }
  })

  test('reads again when all that waited is handled', () => {
    const { scene, send } = openQueue()
    send(120)
    vi.advanceTimersByTime(2 * WINDOW_MS)
    expect(scene).toMatchObject({ handled: 120, isPaused: false })
    // 20 of this window are spent.
    send(30)
    expect(scene).toMatchObject({ handled: 150, isPaused: false })
    send(1)
    expect(scene).toMatchObject({ handled: 150, isPaused: true })
  })

  test('keeps the order', () => {
    const { queue } = openQueue({ framesPer100Ms: 2 })
    const order: number[] = []
    for (let i = 0; i < 7; i++)
      queue.add(() => {
        order.push(i)
        return false
      })
    vi.advanceTimersByTime(5 * WINDOW_MS)
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6])
  })

  test('counts each call of a frame', () => {
    const { queue, scene } = openQueue()
    let left = 120
    queue.add(() => {
      scene.handled++
      return --left > 0
    })
    expect(scene).toMatchObject({ handled: 50, isPaused: true })
    vi.advanceTimersByTime(WINDOW_MS)
    expect(scene).toMatchObject({ handled: 100, isPaused: true })
    vi.advanceTimersByTime(WINDOW_MS)
    expect(scene).toMatchObject({ handled: 120, isPaused: false })
  })
})

describe('a socket over its budget', () => {
  test('is reported after 5 s in which every window was over it', () => {
    const { scene, send } = openQueue()
    send(60)
    for (let windows = 1; windows < 50; windows++) {
      vi.advanceTimersByTime(WINDOW_MS)
      send(60)
      expect(scene.isOver).toBe(false)
    }
    vi.advanceTimersByTime(WINDOW_MS)
    expect(scene.isOver).toBe(true)
  })

  test('is not reported when the last of its frames is handled in time', () => {
    const { scene, send } = openQueue()
    send(50 * 50)
    vi.advanceTimersByTime(60 * WINDOW_MS)
    expect(scene).toMatchObject({ handled: 2_500, isOver: false, isPaused: false })
  })

  test('is not reported because the server stood still', () => {
    const { scene, send } = openQueue()
    send(200)
    vi.advanceTimersByTime(WINDOW_MS)
    // A timer that is late by a minute.
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000)
    vi.advanceTimersByTime(WINDOW_MS)
    expect(scene).toMatchObject({ handled: 150, isPaused: true, isOver: false })
    vi.restoreAllMocks()
  })

  test('begins anew after a window within the budget', () => {
    const { scene, send } = openQueue()
    for (let second = 0; second < 30; second++) {
      send(80)
      vi.advanceTimersByTime(WINDOW_MS)
      for (let windows = 1; windows < 10; windows++) {
        vi.advanceTimersByTime(WINDOW_MS)
        send(20)
      }
      vi.advanceTimersByTime(WINDOW_MS)
    }
    expect(scene).toMatchObject({ handled: 30 * 260, isOver: false })
  })

  test('handles nothing more after it is discarded, and still reads no more than its budget', () => {
    const { scene, queue, send } = openQueue()
    send(500)
    queue.discard()
    vi.advanceTimersByTime(WINDOW_MS)
    const { handled } = scene
    expect(scene.isPaused).toBe(false)
    for (let i = 0; i < 60; i++) queue.add(() => expect.fail('a frame was handled'))
    expect(scene).toMatchObject({ handled, isPaused: true })
    queue.close()
    expect(vi.getTimerCount()).toBe(0)
  })
})
