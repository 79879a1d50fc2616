/** One MDM push: it tells a device to come, and carries nothing else. */
export interface ApnsPush {
  /** Device token, hexadecimal. */
  token: string;
  pushMagic: string;
  /** `com.apple.mgmt.…`, of the push certificate. */
  topic: string;
  /** UUID; Apple makes one up without it. */
  apnsId?: string;
  /** Until when the service keeps it for a device that is away: seconds since 1970. */
  expiration?: number;
}

/** What the push service said. */
export interface ApnsAnswer {
  status: number;
  apnsId: string | null;
  /** Apple's word for what was wrong, like BadDeviceToken; null with status 200. */
  reason: string | null;
  /** With 410: since when the token is no longer valid, milliseconds since 1970. */
  timestamp: number | null;
  /** Seconds. */
  retryAfter: number | null;
}
