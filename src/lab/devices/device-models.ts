export type LabPlatform = 'iOS' | 'macOS';

export interface DeviceModel {
  /** Apple's identifier, such as iPhone15,2: ProductName, and on a Mac also Model. */
  productName: string;
  modelName: string;
  marketingName: string;
  /** Order number without region: the Model of an iPhone or iPad. */
  orderNumber: string;
  /** Chip id in the UDID of newer devices; absent where the UDID is 40 hex digits, or on Intel. */
  chip?: string | undefined;
  isCellular: boolean;
  hasBattery: boolean;
  capacities: readonly number[];
  /** Oldest and newest major OS version it runs. */
  majors: readonly [number, number];
}

type Row = [string, string, string, string | undefined, readonly number[], [number, number]];

const PHONE_SIZES = [64, 128, 256, 512];
const PAD_SIZES = [64, 256];
const MAC_SIZES = [256, 512, 1024, 2048];

const PHONES: Row[] = [
  ['iPhone10,6', 'iPhone X', 'MQA92', undefined, [64, 256], [15, 16]],
  ['iPhone11,8', 'iPhone XR', 'MT002', '8020', [64, 128], [16, 18]],
  ['iPhone12,1', 'iPhone 11', 'MWL72', '8030', PHONE_SIZES, [16, 18]],
  ['iPhone12,8', 'iPhone SE', 'MX9R2', '8030', PHONE_SIZES, [16, 18]],
  ['iPhone13,2', 'iPhone 12', 'MGEX3', '8101', PHONE_SIZES, [16, 18]],
  ['iPhone14,5', 'iPhone 13', 'MLPK3', '8110', PHONE_SIZES, [16, 18]],
  ['iPhone15,2', 'iPhone 14 Pro', 'MQ0G3', '8120', PHONE_SIZES, [16, 18]],
  ['iPhone16,1', 'iPhone 15 Pro', 'MTQP3', '8130', PHONE_SIZES, [17, 18]],
  ['iPhone17,3', 'iPhone 16', 'MYE73', '8140', PHONE_SIZES, [18, 18]],
];

const PADS: Row[] = [
  ['iPad7,5', 'iPad (6th generation)', 'MR7F2', undefined, PAD_SIZES, [16, 17]],
  ['iPad11,6', 'iPad (8th generation)', 'MYL92', '8020', PAD_SIZES, [16, 18]],
  ['iPad12,1', 'iPad (9th generation)', 'MK2K3', '8030', PAD_SIZES, [16, 18]],
  ['iPad13,18', 'iPad (10th generation)', 'MPQ03', '8101', PAD_SIZES, [16, 18]],
  ['iPad13,4', 'iPad Pro (11-inch)', 'MHQR3', '8103', [128, 256, 512], [16, 18]],
  ['iPad14,1', 'iPad mini (6th generation)', 'MK7M3', '8110', PAD_SIZES, [16, 18]],
];

const MACS: Row[] = [
  ['MacBookPro14,1', 'MacBook Pro', 'MPXQ2', undefined, MAC_SIZES, [12, 13]],
  ['iMac19,1', 'iMac', 'MRQY2', undefined, MAC_SIZES, [12, 15]],
  ['MacBookAir10,1', 'MacBook Air', 'MGN63', '8103', MAC_SIZES, [12, 15]],
  ['MacBookPro18,3', 'MacBook Pro', 'MKGR3', '6000', MAC_SIZES, [12, 15]],
  ['Macmini9,1', 'Mac mini', 'MGNR3', '8103', MAC_SIZES, [12, 15]],
  ['Mac14,2', 'MacBook Air', 'MLXW3', '8112', MAC_SIZES, [13, 15]],
  ['Mac14,13', 'Mac Studio', 'MQH73', '6020', MAC_SIZES, [13, 15]],
  ['Mac15,3', 'MacBook Pro', 'MTL73', '8122', MAC_SIZES, [14, 15]],
];

function toModel(modelName: string | undefined): (row: Row) => DeviceModel {
  return ([productName, marketingName, orderNumber, chip, capacities, majors]) => ({
    productName,
    modelName: modelName ?? marketingName,
    marketingName,
    orderNumber,
    chip,
    isCellular: modelName === 'iPhone',
    hasBattery: modelName !== undefined || marketingName.startsWith('MacBook'),
    capacities,
    majors,
  });
}

export const DEVICE_MODELS: Record<LabPlatform, readonly DeviceModel[]> = {
  iOS: [...PHONES.map(toModel('iPhone')), ...PADS.map(toModel('iPad'))],
  macOS: MACS.map(toModel(undefined)),
};

/** What DEP reports about a device. */
export interface DeviceKind {
  /** iPhone, iPad, Mac and the like. */
  family: string;
  model: string;
}

const PLATFORMS: Record<string, LabPlatform> = { iPhone: 'iOS', iPad: 'iOS', Mac: 'macOS' };

/** undefined: no device of that family can be simulated. */
export function platformOf({ family }: DeviceKind): LabPlatform | undefined {
  return PLATFORMS[family];
}
