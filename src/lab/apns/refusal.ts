/** An answer other than 200, as Apple's push service words it. */
export interface Refusal {
  status: number;
  reason: string;
  /** With 410: since when the token is no longer valid, milliseconds since 1970. */
  timestamp?: number;
}

/** The usual reason for each status of Apple's table ("Handling notification responses from APNs"). */
export const USUAL_REASONS: Readonly<Record<number, string>> = {
  400: 'BadDeviceToken',
  403: 'BadCertificate',
  404: 'BadPath',
  405: 'MethodNotAllowed',
  410: 'Unregistered',
  413: 'PayloadTooLarge',
  429: 'TooManyRequests',
  500: 'InternalServerError',
  503: 'ServiceUnavailable',
};

export function refusal(status: number, reason: string): Refusal {
  return { status, reason };
}
