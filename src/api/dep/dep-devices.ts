import { z } from 'zod';
import type { DepDeviceActions } from '../../dep/dep-services.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { action } from '../action.js';
import type { ApiRoute } from '../api-route.js';

export interface DepDeviceRouteDeps {
  api: ApiContext;
  depDeviceActions: DepDeviceActions;
}

const TYPE = 'dep_devices';
const MAX_SERIALS = 1_000;

/** What an admin has Apple do with DEP devices. */
export function depDeviceRoutes(deps: DepDeviceRouteDeps): ApiRoute[] {
  return [disown(deps), lockActivation(deps)];
}

const DISOWN = z.strictObject({
  serial_numbers: z.array(z.string().trim().min(1).max(64)).min(1).max(MAX_SERIALS),
  confirm: z
    .string()
    .max(200)
    .describe('The serial number of one device; of several `disown <number> devices forever`.'),
});

function disown({ api, depDeviceActions }: DepDeviceRouteDeps): ApiRoute {
  return action(api, {
    method: 'POST',
    path: '/dep/devices/disown',
    operationId: 'disownDevices',
    tag: TYPE,
    role: 'admin',
    needsRecentSignIn: true,
    summary: 'Disown devices for good',
    description:
      'A job removes the devices from the organization at Apple. **This cannot be undone**: only ' +
      'the seller of a device can add it again. So `confirm` is required (422 ' +
      '`confirmation_mismatch` says what to send). One account must list all of them: 404 names ' +
      'those that none lists, 409 `other_dep_account` those of others. 409 `in_use` for enrolled ' +
      'devices and 409 `conflict` during an upload to Apple for one of them, without `force=true`. ' +
      "Each device's `disown_result` is requested, sent, then Apple's result (SUCCESS, " +
      'NOT_ACCESSIBLE, FAILED); `refused` where Apple did nothing (see `last_error`; send it again), ' +
      '`no_answer` where the result is unknown: it is never repeated, the next sync shows it.',
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

function lockActivation({ api, depDeviceActions }: DepDeviceRouteDeps): ApiRoute {
  return action(api, {
    method: 'POST',
    path: '/dep/devices/{id}/activation_lock',
    operationId: 'lockActivation',
    tag: TYPE,
    role: 'admin',
    summary: 'Turn the activation lock of a device on',
    description:
      'Makes a bypass code, stores it with the secrets of the device and has Apple lock the device by ' +
      'a job. `meta` names the code: POST /devices/{device_id}/secrets/{secret_id}/reveal shows it, and ' +
      'any former one, as typed on the device. The code is kept whatever Apple answers. ' +
      "`activation_lock_result` is requested, then Apple's result, `refused` (see " +
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
