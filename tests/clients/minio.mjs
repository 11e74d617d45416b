// MinIO's client for JavaScript: node minio.mjs ENDPOINT LARGE_FILE
import fs from "node:fs";
import * as minio from "minio";
import { check, equal, fetched } from "./checks.mjs";

const [endpoint, large] = process.argv.slice(2);
const { hostname: endPoint, port } = new URL(endpoint);
const keys = { accessKey: process.env.ACCESS, secretKey: process.env.SECRET };
const client = new minio.Client({ endPoint, port: Number(port), useSSL: false, ...keys });
const bucket = "minio-js";
const odd = "文/a b+&.txt";

async function collect(stream) {
  const items = [];
  for await (const item of stream) items.push(item);
  return items;
}
const text = async (key, options) => Buffer.concat(await collect(await client.getObject(bucket, key, options))).toString();

await check("make bucket", () => client.makeBucket(bucket, "cn-north-4"));
await check("bucket exists", async () => equal(await client.bucketExists(bucket), true));
await check("list buckets", () => client.listBuckets());
await check("put with metadata", () => client.putObject(bucket, odd, "hi", 2, { "X-Amz-Meta-run": "7" }));
await check("get", async () => equal(await text(odd), "hi"));
await check("stat", async () => equal((await client.statObject(bucket, odd)).metaData.run, "7"));
await check("put a file", () => client.fPutObject(bucket, "large", large));
await check("put a stream in parts", () => client.putObject(bucket, "stream", fs.createReadStream(large)));
await check("get a range", async () => equal((await collect(await client.getPartialObject(bucket, "large", 5, 7)))[0].length, 7));
await check("get a file", async () => {
  await client.fGetObject(bucket, "stream", `${large}.back`);
  equal(fs.readFileSync(`${large}.back`).equals(fs.readFileSync(large)), true);
});
await check("list", async () => equal((await collect(client.listObjects(bucket, "", true))).length, 3));
await check("list, version 2", async () => equal((await collect(client.listObjectsV2(bucket, "", false))).length, 3));
await check("copy", () => client.copyObject(bucket, "copy", `/${bucket}/large`));
await check("list uploads", async () => equal((await collect(client.listIncompleteUploads(bucket, "", true))).length, 0));
await check("tags", async () => {
  await client.setObjectTagging(bucket, "copy", { a: "b" });
  equal((await client.getObjectTagging(bucket, "copy")).length, 1);
  await client.removeObjectTagging(bucket, "copy");
});
await check("signed URL to get", async () => equal(await fetched(await client.presignedGetObject(bucket, odd, 60)), "hi"));
await check("signed URL to put", async () => fetched(await client.presignedPutObject(bucket, "up", 60), { method: "PUT", body: "x" }));
await check("form", async () => {
  const policy = client.newPostPolicy();
  policy.setBucket(bucket);
  policy.setKey("form");
  policy.setExpires(new Date(Date.now() + 60000));
  const { postURL, formData } = await client.presignedPostPolicy(policy);
  const form = new FormData();
  Object.entries(formData).forEach(([name, value]) => form.append(name, value));
  form.append("file", new Blob(["of a form"]));
  await fetched(postURL, { method: "POST", body: form }, 204);
  equal(await text("form"), "of a form");
});
await check("lifecycle", async () => {
  const rule = { ID: "a", Status: "Enabled", Filter: { Prefix: "t/" }, Expiration: { Days: 3 } };
  await client.setBucketLifecycle(bucket, { Rule: [rule] });
  equal([(await client.getBucketLifecycle(bucket)).Rule].flat().length, 1);
  await client.removeBucketLifecycle(bucket);
});
await check("versioning", async () => {
  await client.setBucketVersioning(bucket, { Status: "Enabled" });
  const { versionId } = await client.putObject(bucket, "v", "one");
  await client.putObject(bucket, "v", "two");
  equal(await text("v", { versionId }), "one");
  await client.removeObject(bucket, "v");
  equal((await collect(client.listObjects(bucket, "v", true, { IncludeVersion: true }))).length, 3);
});
await check("Policy", () => client.getBucketPolicy(bucket));
await check("Encryption", () => client.getBucketEncryption(bucket));
await check("Notification", () => client.getBucketNotification(bucket));
await check("delete many, then the bucket", async () => {
  const listed = await collect(client.listObjects(bucket, "", true, { IncludeVersion: true }));
  await client.removeObjects(bucket, listed.map(({ name, versionId }) => ({ name, versionId })));
  await client.removeBucket(bucket);
});
