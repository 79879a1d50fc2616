import type { SimulatedDevice } from '../devices/simulated-device.js';
import type { Activation } from '../pki/activation.js';
import type { HttpClient } from '../wire/http-client.js';
import type { KeyPool } from './key-pool.js';
import type { Credentials } from './web-sign-in.js';

/** A device that fetches an enrollment profile. */
export interface EnrollingDevice {
  device: SimulatedDevice;
  http: HttpClient;
  keys: KeyPool;
  /** Called when Apple's stand-in does not know the device, which then asks the server directly. */
  onUnknownToApple?: () => void;
}

interface WayToServer {
  /** Base URL of the server. */
  url: string;
  /** Token of an enrollment link. */
  token?: string | undefined;
}

/** The device signs with the certificate of its activation. */
export interface CertifiedWay extends WayToServer {
  activation: Activation;
}

export interface AutomatedWay extends CertifiedWay {
  /** Base URL of the stand-in for Apple's portal; without it devices ask the server directly. */
  portal?: string | undefined;
}

export interface AccountWay extends CertifiedWay {
  credentials: Credentials;
}

export interface ProfileWay extends WayToServer {
  enroll: 'profile';
  /** Replaces the profile that the server offers. */
  file?: Buffer | undefined;
}

/** How devices obtain their enrollment profiles. */
export type EnrollmentWay =
  | ProfileWay
  | (CertifiedWay & { enroll: 'ota' })
  | (AutomatedWay & { enroll: 'ade' })
  | (AccountWay & { enroll: 'account' });
