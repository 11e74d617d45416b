"""ResNet-18 for images of 32 x 32 pixels: the first layer keeps the size, and there is no pooling after it."""

from __future__ import annotations

import torch
from torch import nn


class Block(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.way_around = nn.Sequential()  # nothing to do when the shape stays the same
        if stride != 1 or inputs != outputs:
            self.way_around = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Features of shape (samples, outputs, height / stride, width / stride)."""
        return torch.relu(self.convolutions(images) + self.way_around(images))


def resnet18(width: int = 64, classes: int = 10) -> nn.Sequential:
    """ResNet-18 with `width` channels in its first stage (64 in the literature); 11.2 million weights at 64."""
    layers = [nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
    channels = width
    for stage in range(4):
        outputs = width * 2**stage
        layers += [Block(channels, outputs, stride=1 if stage == 0 else 2), Block(outputs, outputs, stride=1)]
        channels = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))
