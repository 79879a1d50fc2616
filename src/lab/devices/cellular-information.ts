import type { PlistInput } from '../../protocol/plist/plist.js';
import type { SimulatedDevice } from './simulated-device.js';

type CellularAnswer = (device: SimulatedDevice) => PlistInput | undefined;

const CARRIER = 'Example Mobile';

function subscriptions({ identity }: SimulatedDevice): PlistInput[] {
  const active = {
    Slot: 'CTSubscriptionSlotOne',
    Label: 'Primary',
    LabelID: 'A6E2F4C0-0F2F-4C86-9C0A-4F0E6C2B8E11',
    CarrierSettingsVersion: '59.0',
    CurrentCarrierNetwork: CARRIER,
    CurrentMCC: '310',
    CurrentMNC: '260',
    ICCID: identity.iccid,
    IMEI: identity.imei,
    MEID: identity.meid,
    IsDataPreferred: true,
    IsVoicePreferred: true,
    IsRoaming: false,
    PhoneNumber: identity.phoneNumber,
    SubscriberCarrierNetwork: CARRIER,
  };
  return [active, { Slot: 'CTSubscriptionSlotTwo', CurrentMCC: '', CurrentMNC: '' }];
}

const ANSWERS: Record<string, CellularAnswer> = {
  IMEI: ({ identity }) => identity.imei,
  MEID: ({ identity }) => identity.meid,
  ICCID: ({ identity }) => identity.iccid,
  PhoneNumber: ({ identity }) => identity.phoneNumber,
  ModemFirmwareVersion: () => '2.12.02',
  CellularTechnology: () => 3,
  CurrentCarrierNetwork: () => CARRIER,
  SIMCarrierNetwork: () => CARRIER,
  SubscriberCarrierNetwork: () => CARRIER,
  CarrierSettingsVersion: () => '59.0',
  SIMMCC: () => '310',
  SIMMNC: () => '260',
  SubscriberMCC: () => '310',
  SubscriberMNC: () => '260',
  CurrentMCC: () => '310',
  CurrentMNC: () => '260',
  IsRoaming: () => false,
  VoiceRoamingEnabled: (device) => device.isVoiceRoamingEnabled,
  DataRoamingEnabled: (device) => device.isDataRoamingEnabled,
  PersonalHotspotEnabled: (device) => device.isHotspotEnabled,
  IsNetworkTethered: () => false,
  ServiceSubscriptions: subscriptions,
};

/** A device without a modem answers only the technology, which is 0. */
function onlyCellular(query: string, answer: CellularAnswer): CellularAnswer {
  return (device) => {
    if (device.identity.isCellular) return answer(device);
    return query === 'CellularTechnology' ? 0 : undefined;
  };
}

export const CELLULAR_QUERIES: Record<string, CellularAnswer> = Object.fromEntries(
  Object.entries(ANSWERS).map(([query, answer]) => [query, onlyCellular(query, answer)]),
);
