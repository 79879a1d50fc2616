import { join } from 'node:path';
import type { Config } from '../config/config.js';
import { type ApnsStandIn, startApnsStandIn } from '../lab/apns/apns-stand-in.js';
import { createSnapshotFile } from '../lab/dep/dep-snapshot.js';
import { type DepStandIn, startDepStandIn } from '../lab/dep/dep-stand-in.js';
import type { LabAuthority } from '../lab/pki/lab-authority.js';
import type { Logger } from '../logger.js';

export interface StandIns {
  apns: ApnsStandIn;
  dep: DepStandIn;
}

export interface StandInsDescription {
  apns: { url: string; ca: string; courier: string; control: string };
  /** DEP, and the website where its customers manage it. */
  dep: { url: string; ca: string; portal: string };
}

interface StandInDeps {
  config: Pick<Config, 'dataDir'>;
  logger: Logger;
}

/** Starts the stand-ins for Apple's services on free ports of this machine. */
export async function startStandIns(deps: StandInDeps, authority: LabAuthority): Promise<StandIns> {
  const apns = await startApnsStandIn({ authority });
  try {
    return { apns, dep: await startDep(deps, authority) };
  } catch (error) {
    await apns.close();
    throw error;
  }
}

export function describeStandIns({ apns, dep }: StandIns): StandInsDescription {
  const { url, caPem: ca, courierUrl, controlUrl } = apns;
  return {
    apns: { url, ca, courier: courierUrl, control: controlUrl },
    dep: { url: dep.url, ca: dep.caPem, portal: dep.portalUrl },
  };
}

function startDep({ config, logger }: StandInDeps, authority: LabAuthority) {
  const file = join(config.dataDir, 'lab', 'enrollment-program.json');
  const store = createSnapshotFile(file, (message, err) => {
    logger.warn({ err }, message);
  });
  return startDepStandIn({ authority, store });
}
