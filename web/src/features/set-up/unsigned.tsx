import { type FormEvent, useState } from 'react';
import { ActionError } from '../../api/action-error';
import { saveText } from '../../api/files';
import { faultAt, otherFault } from '../../api/form-faults';
import { setUpText } from '../../text/set-up';
import { Button } from '../../ui/button';
import { FileField } from '../../ui/file-field';
import { Notice } from '../../ui/notice';
import { useFaultFocus } from '../../ui/use-fault-focus';
import { useStoreVendor } from './queries';

const words = setUpText.push;

interface Props {
  /** The bare request. */
  pem: string;
  onStored: () => void;
}

/** Apple takes signed requests only: here are the two ways to have one signed. */
export function Unsigned({ pem, onStored }: Props) {
  return (
    <>
      <Notice tone="warn" title={words.noVendor}>
        <p>{words.bareWhy}</p>
        <Button onPress={() => saveText(pem, 'push-request.pem')}>{words.bare}</Button>
      </Notice>
      <details>
        <summary>{words.vendor}</summary>
        <VendorForm onStored={onStored} />
      </details>
    </>
  );
}

function VendorForm({ onStored }: { onStored: () => void }) {
  const [certificate, setCertificate] = useState<File>();
  const [key, setKey] = useState<File>();
  const store = useStoreVendor();
  const form = useFaultFocus(store.error);
  const other = otherFault(store.error, ['pem_certificate', 'pem_private_key']);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (certificate === undefined || key === undefined) return;
    store.mutate({ certificate, privateKey: key }, { onSuccess: onStored });
  };
  return (
    <form ref={form} className="set-up-part set-up-vendor" onSubmit={submit}>
      <p className="soft">{words.vendorWhy}</p>
      <FileField
        label={words.vendorFile}
        accept=".pem,.crt"
        onChange={setCertificate}
        error={faultAt(store.error, 'pem_certificate')}
      />
      <FileField
        label={words.vendorKey}
        accept=".pem,.key"
        onChange={setKey}
        error={faultAt(store.error, 'pem_private_key')}
      />
      {other !== undefined && <ActionError error={other} />}
      <div>
        <Button
          type="submit"
          isDisabled={certificate === undefined || key === undefined}
          isPending={store.isPending}
        >
          {words.vendorUpload}
        </Button>
      </div>
    </form>
  );
}
