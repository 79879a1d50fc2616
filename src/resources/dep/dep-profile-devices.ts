import type { RelateOperation, ToMany } from '../../jsonapi/definition/definition.js';
import type { ResourceServices } from '../services.js';

type Relate = RelateOperation<ResourceServices>;

/** Devices that are to have the profile, whatever Apple has of it yet: see their `dep_devices`. */
export const profileDevices: ToMany<ResourceServices> = {
  kind: 'toMany',
  type: 'devices',
  via: { foreignKey: 'dep_profile_id' },
  write: 'document',
  operations: { add: assignProfile, remove: unassignProfile },
};

async function assignProfile({ trx, services, id, relatedIds, at, meta }: Relate): Promise<void> {
  const wish = { profileId: id, deviceIds: relatedIds, at };
  const warnings = await services.depServices.assignProfile(trx, wish);
  if (warnings.length > 0) meta.warnings = warnings;
}

async function unassignProfile({ trx, services, id, relatedIds }: Relate): Promise<void> {
  await services.depServices.unassignProfile(trx, { profileId: id, deviceIds: relatedIds });
}
