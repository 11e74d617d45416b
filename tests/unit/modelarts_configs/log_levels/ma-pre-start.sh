#!/bin/bash
set -x
echo "Start to intall the run package"
LOCAL_DIR=$(cd "$(dirname "$0")";pwd)
echo $LOCAL_DIR

TRAIN_PY_PATH=$(readlink -f `find ./ -name train.py`)
BASE_PATH=`dirname $TRAIN_PY_PATH`

pip install $BASE_PATH/run/protobuf*.whl
pip install $BASE_PATH/run/mindspore_ascend*.whl
echo "replace origin mindspore packet!!! done ret:$? !!!"

sudo chmod +x $BASE_PATH/run/*.run
CANN_RUN_PACKET=`find $BASE_PATH/run/ -name Ascend-cann-nnae*.run`
sudo $CANN_RUN_PACKET --upgrade
echo "replace origin CANN_RUN_PACKET!!!: $CANN_RUN_PACKET done ret:$? !!!"

# env set
export GLOG_v=3
export ASCEND_GLOBAL_LOG_LEVEL=3
export ASCEND_GLOBAL_EVENT_ENABLE=0
export ASCEND_SLOG_PRINT_TO_STDOUT=0

set +x
