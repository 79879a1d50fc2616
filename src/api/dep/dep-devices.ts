import { z } from 'zod';
import type { DepDeviceActions } from '../../dep/dep-services.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { action } from '../action.js';
import type { ApiRoute } from '../api-route.js';

export interface DepDeviceRouteDeps {
  engine: ApiContext;
  depDeviceActions: DepDeviceActions;
}

const TYPE = 'dep_devices';
const MOST_SERIALS = 1_000;

/** What an admin has Apple do with devices of the enrollment program. */
export function depDeviceRoutes(deps: DepDeviceRouteDeps): ApiRoute[] {
  return [disown(deps), lockActivation(deps)];
}

const DISOWN = z.strictObject({
  serial_numbers: z.array(z.string().trim().min(1).max(64)).min(1).max(MOST_SERIALS),
  confirm: z
    .string()
    .max(200)
    .describe('The serial number of one device; of several `disown <number> devices forever`.'),
});

function disown({ engine, depDeviceActions }: DepDeviceRouteDeps): ApiRoute {
  return action(engine, {
    method: 'POST',
    path: '/dep/devices/disown',
    operationId: 'disownDevices',
    tag: TYPE,
    role: 'admin',
    summary: 'Give devices up for good',
    description:
      'Has Apple take the devices out of the organization, by a job. **Nobody can undo it**: only ' +
      'the seller of a device can bring it back. So `confirm` has to be typed (422 ' +
      '`confirmation_mismatch` says what). All of them have to be listed by one account: 404 names ' +
      'those that none lists, 409 `other_dep_account` those of others. 409 `in_use` for enrolled ' +
      'devices and 409 `conflict` for those that an upload to Apple is under way for, without `force=true`. ' +
      "What came of each stands in its `disown_result`: requested, sent, then a word of Apple's " +
      '(SUCCESS, NOT_ACCESSIBLE, FAILED); `refused` where Apple did nothing (see `last_error`; ask ' +
      'again), `no_answer` where nobody knows: it is never repeated, the next sync shows it.',
    flags: { force: { description: 'Disown enrolled devices too.' } },
    body: {
      attributes: DISOWN,
      type: TYPE,
      isRequired: true,
      example: { serial_numbers: ['C02XK1JKLVCG'], confirm: 'C02XK1JKLVCG' },
    },
    answer: {
      status: 202,
      description: 'The devices; a job calls Apple.',
      shows: { listOf: TYPE },
    },
    audit: { action: 'dep_devices.disown', targetType: 'dep_accounts', refusals: [] },
    run: async (trx, { body, flags: { force: isForced } }) => {
      const { serial_numbers: serialNumbers, confirm } = body;
      const request = { serialNumbers, confirm, isForced };
      const { accountId, ids } = await depDeviceActions.disown(trx, request);
      const details = { serial_numbers: [...new Set(serialNumbers)], force: isForced };
      return { targetId: accountId, ids, details };
    },
  });
}

const LOCK = z.strictObject({
  lost_message: z.string().max(1_000).optional().describe('What the locked device shows.'),
});

function lockActivation({ engine, depDeviceActions }: DepDeviceRouteDeps): ApiRoute {
  return action(engine, {
    method: 'POST',
    path: '/dep/devices/{id}/activation_lock',
    operationId: 'lockActivation',
    tag: TYPE,
    role: 'admin',
    summary: 'Turn the activation lock of a device on',
    description:
      'Makes a bypass code, keeps it with the secrets of the device and then has Apple lock it, by a ' +
      'job. `meta` names the code: POST /devices/{device_id}/secrets/{secret_id}/reveal shows it as it ' +
      'is typed on the device, as does any former one. The code is kept whatever Apple answers. What ' +
      "came of it is `activation_lock_result`: requested, then Apple's word, `refused` (see " +
      '`last_error`) or `no_answer`. 409 `conflict` for a device that Apple does not list or that has ' +
      'no record yet, and without `force=true` for one that is locked already: another code is of no ' +
      'use while Apple knows the former one.',
    flags: { force: { description: 'Make another code although Apple has locked it.' } },
    body: {
      attributes: LOCK,
      type: TYPE,
      example: { lost_message: 'Property of Example School: please call 01 234 56 78' },
    },
    answer: { status: 202, description: 'The device; a job calls Apple.', shows: TYPE },
    audit: { action: 'dep_devices.activation_lock', targetType: TYPE, refusals: [] },
    run: async (trx, { id, body, flags: { force: isForced } }) => {
      const request = { id, lostMessage: body.lost_message, isForced };
      const { deviceId, serialNumber, secretId } = await depDeviceActions.lock(trx, request);
      return {
        details: { serial_number: serialNumber, device_id: deviceId, secret_id: secretId },
        meta: { device_id: deviceId, secret_id: secretId },
      };
    },
  });
}
