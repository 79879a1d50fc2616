import type { SimulatedDevice } from '../devices/simulated-device.js';
import type { KeyPool } from '../fleet/key-pool.js';
import type { HttpClient } from '../wire/http-client.js';
import { obtainByAccount } from './account-driven.js';
import type { Activation } from './activation.js';
import { obtainAutomated } from './automated.js';
import { type EnrollmentProfile, fetchProfile, readProfileFile } from './enrollment-profile.js';
import { obtainOverTheAir } from './over-the-air.js';
import type { Credentials } from './web-sign-in.js';

/** A device on its way to an enrollment profile. */
export interface Journey {
  device: SimulatedDevice;
  http: HttpClient;
  keys: KeyPool;
  /** Apple does not know the device: it goes to the server by itself. */
  onStranger?: () => void;
}

interface WayToServer {
  /** Base URL of the server. */
  url: string;
  /** Of an enrollment link. */
  token?: string;
}

/** One on which the device shows what its maker made of it. */
export interface CertifiedWay extends WayToServer {
  activation: Activation;
}

export interface AutomatedWay extends CertifiedWay {
  /** Base URL of what stands for Apple's portal; devices go to the server by themselves without. */
  portal?: string;
}

export interface AccountWay extends CertifiedWay {
  credentials: Credentials;
}

export interface ProfileWay extends WayToServer {
  enroll: 'profile';
  /** In place of the one that the server offers. */
  file?: Buffer;
}

/** How devices come by their enrollment profiles. */
export type EnrollmentWay =
  | ProfileWay
  | (CertifiedWay & { enroll: 'ota' })
  | (AutomatedWay & { enroll: 'ade' })
  | (AccountWay & { enroll: 'account' });

/** Throws LabError, or AppError, that tells why there is none. */
export async function obtainProfile(
  journey: Journey,
  way: EnrollmentWay,
): Promise<EnrollmentProfile> {
  switch (way.enroll) {
    case 'ota':
      return await obtainOverTheAir(journey, way);
    case 'ade':
      return await obtainAutomated(journey, way);
    case 'account':
      return await obtainByAccount(journey, way);
    case 'profile':
      if (way.file !== undefined) return readProfileFile(way.file);
      return await fetchProfile(journey.http, way.url, way.token);
  }
}
