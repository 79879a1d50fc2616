import type { IncomingMessage, ServerResponse } from 'node:http';

export type Surface =
  | 'mdm'
  | 'checkin'
  | 'scep'
  | 'enroll'
  | 'dep'
  | 'api'
  | 'health'
  | 'metrics'
  | 'other';

/** Called for each request when it is answered; `aborted` if the client left before. */
export type RequestObserver = (
  surface: Surface,
  status: number | 'aborted',
  seconds: number,
) => void;

const SURFACES: [path: string, surface: Surface][] = [
  ['/mdm', 'mdm'],
  ['/checkin', 'checkin'],
  ['/api/v1', 'api'],
  ['/scep', 'scep'],
  ['/enroll', 'enroll'],
  ['/dep', 'dep'],
  ['/healthz', 'health'],
  ['/readyz', 'health'],
  ['/metrics', 'metrics'],
];

/** Metrics are labelled by surface, not by path: any client may request any number of paths. */
export function surfaceOf(url: string): Surface {
  const found = SURFACES.find(([path]) => {
    const next = url.charAt(path.length);
    return url.startsWith(path) && (next === '' || next === '/' || next === '?');
  });
  return found?.[1] ?? 'other';
}

/** Seconds since `started`, of performance.now(). */
export function secondsSince(started: number): number {
  return (performance.now() - started) / 1000;
}

/** Calls the observer when the request ends. */
export function observeRequest(
  req: IncomingMessage,
  res: ServerResponse,
  observer: RequestObserver,
): void {
  const started = performance.now();
  const surface = surfaceOf(req.url ?? '');
  res.once('close', () => {
    observer(surface, res.writableFinished ? res.statusCode : 'aborted', secondsSince(started));
  });
}
